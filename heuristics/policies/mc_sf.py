"""Shortest output first, largest feasible prefix (J2 Alg. 1 = J1 Alg. 1 and 2, MC-SF).

For equal prompts that all arrive at 0 the volume s·o + o(o+1)/2 increases with o, so this is
``svf`` with its ratio; where M is at least twice the largest peak that is at most 5, the constant
that jaillet2025_v2 Theorem 4.3 does not name.  It states 4 where the outputs are equal too.
wang2025 Theorem 2.1 shows that there is none for unequal prompts.
"""

from heuristics.guarantee import (
    AT_ZERO,
    BELOW_MEMORY,
    EQUAL_OUTPUTS,
    EQUAL_PROMPTS,
    TWICE_THE_PEAK,
    Guarantee,
    constant_ratio,
    volume_first_ratio,
)
from heuristics.policy import ListPolicy

GUARANTEES = (
    Guarantee(
        "1 + 2/(1 − α)",
        "OPT",
        (AT_ZERO, EQUAL_PROMPTS, BELOW_MEMORY),
        "J2 Theorem 4.3, with the constant of arXiv 2606.22327 Theorem 3.2",
        symbols="α = (largest peak)/M",
        ratio=volume_first_ratio,
    ),
    Guarantee(
        "4",
        "OPT",
        (AT_ZERO, EQUAL_PROMPTS, EQUAL_OUTPUTS, TWICE_THE_PEAK),
        "J2 Theorem 4.3",
        ratio=constant_ratio(4),
    ),
)

POLICY = ListPolicy("mc-sf", guarantees=GUARANTEES, rank=lambda known: (known.outputs,))
