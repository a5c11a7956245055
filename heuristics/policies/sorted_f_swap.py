"""Batches by local swaps from the smallest peaks, judged by F (W Alg. 3, Sorted-F).

Clairvoyant.  Orders what waits, anew at every arrival.  A batch starts as the smallest peaks s + o
that fit into M together; the first swap that fits and lowers Σo / |X|² is made until there is
none.  Both loops go through requests by ascending peak, ties by arrival, then by position, and
start anew after a swap (the paper leaves the order open).  Inside a batch the shortest output
comes first; admission is the common one.  No worst-case guarantee is claimed, by W neither.
"""

from heuristics.batching.swap import batches_by_swaps
from heuristics.policy import PlanPolicy

POLICY = PlanPolicy("sorted-f-swap", plan=batches_by_swaps)
