"""Shared prefixes: the prompt tokens of a trace that an earlier prompt has begun with.

The problem has no sharing: every request holds and prefills its whole prompt.  A trace that states
the blocks of its prompts tells how far that is from a server with a prefix cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from serving.traces.reader import Rows


def shared_tokens(prefixes: Sequence[Any], prompts: Sequence[int], block: int) -> int:
    """Return the tokens of prompts that repeat the beginning of an earlier one, by blocks' ids.

    A block (so many tokens, the last one of a prompt may have fewer) is the same if its id is, and
    so are all blocks before it.  What is no list of integers shares nothing.
    """
    # A beginning is remembered as a 64-bit hash of the one that is a block shorter and the id.
    seen: set[int] = set()
    shared = 0
    for ids, prompt in zip(prefixes, prompts, strict=True):
        if not isinstance(ids, Sequence) or any(type(each) is not int for each in ids):
            continue
        beginning, known = 0, 0
        for each in ids:
            beginning = hash((beginning, each))
            known += beginning in seen
            seen.add(beginning)
        shared += min(known * block, prompt)
    return shared


def shared_prefixes(rows: Rows) -> list[str]:
    """Return the line of the report, none where no prompt states its blocks."""
    if all(each is None for each in rows.prefixes or ()):
        return []
    prompts = rows.prompts.tolist()
    shared, total = shared_tokens(rows.prefixes or (), prompts, rows.block), sum(prompts)
    share = 100 * shared / total if total else 0.0
    return [
        f"{shared:,} of {total:,} prompt tokens ({share:.1f} %) repeat the beginning of an earlier "
        f"prompt (hash_ids, blocks of {rows.block} tokens): a prefix cache need not prefill or "
        "hold them again, here every request does"
    ]
