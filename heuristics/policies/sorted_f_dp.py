"""Batches of least F by dynamic programming, Σ peaks ≤ M, ties as in Alg. 1 (W Alg. 2, Sorted-F).

Clairvoyant.  Orders what waits, anew at every arrival, as batches that minimise Σo / |X|², shortest
output first inside.  Admission is the common one, where a request may start in the round in which
another completes (W keeps that one in memory for the round).

Among batches of equal F, Alg. 1 keeps the larger one, Alg. 2 as printed the smaller.  Here it is
the larger, since W means Alg. 2 to solve the Phase 1 of Alg. 1.

W calls Alg. 2 the exact Phase 1, but Alg. 1 allows batches whose peaks sum to more than M;
``sorted-f-exact`` solves that.  The factor 48 of W Theorem 4.1 is stated for Alg. 1, so no
guarantee is claimed here.  Time O(n²M) a batch; a table of more than 1 GiB is refused.
"""

from heuristics.batching.batch_table import batches_by_peaks
from heuristics.policy import PlanPolicy

POLICY = PlanPolicy("sorted-f-dp", plan=batches_by_peaks)
