"""Earliest expected start in the LP relaxation first (W Alg. 6, Sorted-LP).

Clairvoyant and offline: the relaxation is solved over all requests, those that have not arrived
too.  Its advice is y = Σ t·x*, the expected start of each request (rounds).  Admission is the
common one; ties go by arrival, then by position.  No worst-case guarantee is claimed, by W
neither.
"""

from heuristics.policy import AdvisedPolicy

POLICY = AdvisedPolicy(
    "sorted-lp", offline=True, order=lambda known, advice: known.sorted_by(advice)
)
