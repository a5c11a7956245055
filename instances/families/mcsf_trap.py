"""Short outputs with long prompts first: shortest-output-first pays more and more as M grows.

Source: wang2025 Theorem 2.1 (Appendix 8): M requests with s = √M - 1, o = 1, and M^1.25 requests
with s = 1, o = 2, all at round 0.  For M that is no fourth power, roots are rounded down:
√M = isqrt(M) and M^1.25 = M·isqrt(√M).
"""

from math import isqrt
from typing import Annotated

from instances.families.shared import Seed, Within, not_too_many, numbered, ranged
from instances.instance import MAX_TOKENS, Instance


@ranged
def generate(seed: Seed = 0, memory: Annotated[int, Within(4, MAX_TOKENS)] = 256) -> Instance:
    """Build the trap of M + M^1.25 requests (48 for 16, 1,280 for 256); nothing is drawn."""
    del seed
    root = isqrt(memory)
    not_too_many(memory * (1 + isqrt(root)))
    rows = [(0, root - 1, 1)] * memory + [(0, 1, 2)] * (memory * isqrt(root))
    return Instance(
        name=f"mcsf_trap_{memory}",
        family="mcsf-trap",
        source="wang2025 Theorem 2.1",
        memory=memory,
        requests=numbered(rows),
    )
