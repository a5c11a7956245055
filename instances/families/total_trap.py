"""Small totals with long outputs first: smallest-s-plus-o-first pays more and more as M grows.

Source: wang2025 Theorem 8.2 (Appendix 8): M requests with s = 1, o = √M - 1, and M^1.5 requests
with s = √M, o = 1, all at round 0.  For M that is no square, √M is rounded down and M^1.5 = M·√M.
"""

from __future__ import annotations

from math import isqrt

from instances.families.build import at_least, numbered
from instances.model import Instance


def generate(seed: int = 0, memory: int = 256) -> Instance:
    """Build the trap for one memory; nothing is drawn.

    Parameters
    ----------
    seed : int
        Without effect.
    memory : int
        M, tokens, 4 or more.  There are M + M^1.5 requests: 80 for 16, 4,352 for 256.

    Raises
    ------
    ValueError
        If the memory is too small.
    """
    del seed
    at_least(4, memory=memory)
    root = isqrt(memory)
    rows = [(0, 1, root - 1)] * memory + [(0, root, 1)] * (memory * root)
    return Instance(
        name=f"total_trap_{memory}",
        family="total-trap",
        source="wang2025 Theorem 8.2",
        memory=memory,
        requests=numbered(rows),
    )
