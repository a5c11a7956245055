"""Batches below two quantiles of a random sample, then by o/(s+o) (W Alg. 4, Sorted-F).

Clairvoyant, randomised.  Orders what waits, anew at every arrival.  For each batch half of what
remains is drawn; requests whose peak and output do not exceed the 0.3-quantiles of the sample
enter first (the smallest value that at least 30 % of the sample do not exceed), then the others by
ascending o / (s + o), each while the peaks sum to ≤ M.  Inside a batch the shortest output comes
first; admission is the common one.  No worst-case guarantee is claimed, by W neither.
"""

from heuristics.batching.quantile import order_by_quantiles
from heuristics.policy import PlanPolicy

POLICY = PlanPolicy("sorted-f-quantile", randomised=True, plan=order_by_quantiles)
