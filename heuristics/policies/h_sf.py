"""Hindsight shortest first: the most requests that fit, by true outputs (C Alg. 3, H-SF).

Clairvoyant.  Every round starts a largest set of waiting requests that the look-ahead (3) allows.

With equal prompts, which chen2025 assumes throughout, that set is the longest feasible prefix of
the waiting requests by output.  Proof: let U be feasible at round t, |U| = m, and V the m shortest
waiting requests.  Pair them by rank; then the k-th of V is no longer than the k-th of U, both
start at t with the same prompt, so at every later time the k-th of V holds what the k-th of U
holds, or nothing because it has ended.  So V is feasible too.  Subsets of feasible sets are
feasible, so going through the order up to the first misfit finds the largest m; among all sets of
that size it takes one with the least total output.

With unequal prompts chen2025 defines nothing; the same prefix is taken, as in ``mc-sf``.

chen2025 compares with it in its competitive ratios; its TEL is no lower bound on OPT, since it is
not always optimal (M = 5, s = 1, o = 1, 1, 3, 3: 13, OPT 12).  It has the guarantee of ``mc-sf``.
"""

from heuristics.policies import mc_sf
from heuristics.policy import ListPolicy

POLICY = ListPolicy("h-sf", guarantees=mc_sf.POLICY.guarantees, rank=mc_sf.POLICY.rank)
