"""Small totals with long outputs first: smallest-s-plus-o-first pays more and more as M grows.

Source: wang2025 Theorem 8.2 (Appendix 8): M requests with s = 1, o = √M - 1, and M^1.5 requests
with s = √M, o = 1, all at round 0.  For M that is no square, √M is rounded down and M^1.5 = M·√M.

With these numbers the ratio tends to 3 and no further, although the theorem says that it grows as
√M: the second kind alone costs √M·Σ_{j ≤ M} j ≈ M^2.5 / 2 (printed: M^1.75 / 2) in either order, as
much as what the trap adds, M^2.5.  With M^(1+x) requests of the second kind, x = 1/4 makes the two
parts that stay equal to M² and the trap M^2.25: then the ratio does grow, as M^(1/4).  The
parameter ``growth`` is that 1 + x.
"""

from math import isqrt
from typing import Annotated

from instances.families.shared import Seed, Within, not_too_many, numbered, ranged
from instances.instance import MAX_TOKENS, Instance


@ranged
def generate(
    seed: Seed = 0,
    memory: Annotated[int, Within(4, MAX_TOKENS)] = 256,
    growth: Annotated[float, Within(1, 1.5)] = 1.5,
) -> Instance:
    """Build the trap of M + M^growth requests (80 for 16, 4,352 for 256); nothing is drawn."""
    del seed
    root = isqrt(memory)
    flat = memory * root if growth == 1.5 else round(memory**growth)
    not_too_many(memory + flat)
    rows = [(0, 1, root - 1)] * memory + [(0, root, 1)] * flat
    return Instance(
        name=f"total_trap_{memory}" + ("" if growth == 1.5 else f"_growth{growth:g}"),
        family="total-trap",
        source="wang2025 Theorem 8.2",
        memory=memory,
        requests=numbered(rows),
    )
