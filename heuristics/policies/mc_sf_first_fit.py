"""Shortest output first, passing over what does not fit (variant of J2 Alg. 1, MC-SF).

Clairvoyant.  The order of ``mc-sf``; in every round each waiting request is tried, where the paper
stops at the first that does not fit.  A long prompt may so be overtaken again and again.  No
worst-case guarantee is claimed.
"""

from heuristics.policies import mc_sf
from heuristics.policy import ListPolicy

POLICY = ListPolicy("mc-sf-first-fit", rank=mc_sf.POLICY.rank, first_fit=True)
