"""Smallest volume s·o + o(o+1)/2 first, largest feasible prefix (arXiv 2606.22327, SVF)."""

from heuristics.guarantee import AT_ZERO, BELOW_MEMORY, Guarantee, volume_first_ratio
from heuristics.policy import ListPolicy

POLICY = ListPolicy(
    "svf",
    guarantees=(
        Guarantee(
            "1 + 2/(1 − α)",
            "OPT",
            (AT_ZERO, BELOW_MEMORY),
            "arXiv 2606.22327",
            symbols="α = (largest peak)/M",
            ratio=volume_first_ratio,
        ),
    ),
    rank=lambda known: (known.volumes,),
)
