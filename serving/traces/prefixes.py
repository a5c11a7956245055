"""How much of the prompts of a trace an earlier prompt has begun with: what could be shared.

The problem has no sharing: every request holds and prefills its whole prompt.  A trace that states
the blocks of its prompts tells how far that is from a server with a prefix cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class SharedPrefixes:
    """Counts the tokens of prompts that repeat the beginning of an earlier prompt.

    A block is the same if its id is, and so are all blocks before it; a beginning is remembered as
    a 64-bit hash of the one that is a block shorter and the id.
    """

    prompts: int = 0
    shared: int = 0
    _seen: set[int] = field(default_factory=set)

    def add(self, blocks: Any, block: int, prompt: int) -> None:
        """Count a prompt by the ids of its blocks; what is no list of integers shares nothing.

        A block has so many tokens (the last one of a prompt may have fewer), and so has the prompt.
        """
        self.prompts += prompt
        if not _are_ids(blocks):
            return
        beginning, known, seen = 0, 0, self._seen
        for each in blocks:
            beginning = hash((beginning, each))
            if beginning in seen:
                known += 1
            else:
                seen.add(beginning)
        self.shared += min(known * block, prompt)

    def note(self, block: int) -> str:
        """Return the line of the report."""
        share = 100 * self.shared / self.prompts if self.prompts else 0.0
        return (
            f"{self.shared:,} of {self.prompts:,} prompt tokens ({share:.1f} %) repeat the "
            f"beginning of an earlier prompt (hash_ids, blocks of {block} tokens): a prefix cache "
            "need not prefill or hold them again, here every request does"
        )


def _are_ids(blocks: Any) -> bool:
    return isinstance(blocks, Sequence) and all(type(each) is int for each in blocks)
