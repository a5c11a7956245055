"""Shortest output first, largest feasible prefix (J2 Alg. 1 = J1 Alg. 1 and 2, MC-SF).

For equal prompts that all arrive at 0, jaillet2025_v2 Theorem 4.3 states a constant competitive
ratio where M is at least twice the largest peak, and 4 where the outputs are equal too.  It names
no constant; its Lemma 4.4 and (12) give 1536 · 6 = 9,216.  wang2025 Theorem 2.1 shows that there is
none for unequal prompts.

Reference: ``heuristics/reference/mc_sf.py``.
"""

from heuristics.guarantee import (
    AT_ZERO,
    EQUAL_OUTPUTS,
    EQUAL_PROMPTS,
    TWICE_THE_PEAK,
    Guarantee,
    constant,
)
from heuristics.policy import Keys, Known, ListPolicy


def rank(known: Known) -> Keys:
    """Smaller o first."""
    return (known.outputs,)


GUARANTEES = (
    Guarantee(
        "a constant (9,216 by its proof)",
        "OPT",
        (AT_ZERO, EQUAL_PROMPTS, TWICE_THE_PEAK),
        "J2 Theorem 4.3",
        ratio=constant(9216),
    ),
    Guarantee(
        "4",
        "OPT",
        (AT_ZERO, EQUAL_PROMPTS, EQUAL_OUTPUTS, TWICE_THE_PEAK),
        "J2 Theorem 4.3",
        ratio=constant(4),
    ),
)

POLICY = ListPolicy("mc-sf", guarantees=GUARANTEES, rank=rank)
