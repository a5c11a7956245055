"""Smallest volume s·o + o(o+1)/2 first, largest feasible prefix (arXiv 2606.22327, SVF).

Its source states a ratio of at most 1 + 2/(1 − α) when all requests arrive at 0, where α is the
largest peak divided by M.

Reference: ``heuristics/reference/svf.py``.
"""

from fractions import Fraction

from heuristics.guarantee import AT_ZERO, BELOW_MEMORY, Guarantee, largest_share
from heuristics.policy import Keys, Known, ListPolicy
from instances import Instance


def rank(known: Known) -> Keys:
    """Smaller s·o + o(o+1)/2 first."""
    s, o = known.prompts, known.outputs
    return (s * o + o * (o + 1) // 2,)


def ratio(instance: Instance) -> Fraction:
    """Return 1 + 2/(1 − α)."""
    return 1 + 2 / (1 - largest_share(instance))


POLICY = ListPolicy(
    "svf",
    guarantees=(
        Guarantee(
            "1 + 2/(1 − α)",
            "OPT",
            (AT_ZERO, BELOW_MEMORY),
            "arXiv 2606.22327",
            symbols="α = (largest peak)/M",
            ratio=ratio,
        ),
    ),
    rank=rank,
)
