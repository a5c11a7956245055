"""Small proxy volumes first, one bit a request (arXiv 2606.22327 section 3, 1-bit SVF).

The bit says if o ≤ √T, T a bound of all peaks.  The proxy is s·O + O(O+1)/2, O = T^¼ or T^¾.  The
common admission uses the true outputs, so the policy counts as clairvoyant.
"""

from math import isqrt, sqrt

import numpy as np

from heuristics.guarantee import AT_ZERO, BELOW_MEMORY, Guarantee, largest_share
from heuristics.policy import Keys, Known, ListPolicy, Parameter


def rank(known: Known) -> Keys:
    """Return proxy volumes."""
    bound: int = known.values["total"] or known.memory
    root = sqrt(sqrt(bound))
    believed = np.where(known.outputs <= isqrt(bound), root, root**3)
    return (known.prompts * believed + believed * (believed + 1) / 2,)


POLICY = ListPolicy(
    "svf-1bit",
    parameters=(Parameter("total", 0, 0, 1e18, "T, at least all peaks; 0 takes M", True),),
    guarantees=(
        Guarantee(
            "1 + 2M/(1 − α)",
            "OPT",
            (AT_ZERO, BELOW_MEMORY),
            "arXiv 2606.22327, Theorem 3.3",
            symbols="α = (largest peak)/M, total = 0",
            ratio=lambda each: 1 + 2 * each.memory / (1 - largest_share(each)),
        ),
    ),
    rank=rank,
)
