"""Shared prefixes: prompt tokens of a trace that repeat the beginning of an earlier prompt.

Every request of the problem holds and prefills its whole prompt.  The blocks of the prompts show
how far a server with a prefix cache differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from serving.traces.reader import Rows


def shared_tokens(prefixes: Sequence[Any], prompts: Sequence[int], block: int) -> int:
    """Return the prompt tokens that repeat the beginning of an earlier prompt, by blocks' ids.

    Blocks, of ``block`` tokens or fewer at the end of a prompt, are the same if their ids and all
    ids before are.  What is no list of integers shares nothing.
    """
    # A beginning is kept as a 64-bit hash of the one that is a block shorter and the id.
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
    """Return the line of the report, none if no prompt states its blocks."""
    if rows.prefixes is None or all(each is None for each in rows.prefixes):
        return []
    prompts = rows.prompts.tolist()
    shared, total = shared_tokens([*rows.prefixes], prompts, rows.block), sum(prompts)
    share = 100 * shared / total if total else 0.0
    return [
        f"{shared:,} of {total:,} prompt tokens ({share:.1f} %) repeat the beginning of an earlier "
        f"prompt (hash_ids, blocks of {rows.block} tokens): a prefix cache need not prefill or "
        "hold them again, here every request does"
    ]
