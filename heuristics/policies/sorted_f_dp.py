"""Batches of least F by dynamic programming, Σ peaks ≤ M, ties as in Alg. 1 (W Alg. 2, Sorted-F).

Clairvoyant.  Orders what waits, anew at every arrival, as batches that minimise Σo / |X|²; inside a
batch the shortest output comes first.  Admission is the common one of this suite, where a request
may start in the round in which another completes (W keeps the completing one in memory for that
round).

W has two tie rules.  Among batches of equal F, Alg. 1 keeps the larger one; Alg. 2 as printed goes
through sizes upwards and replaces only what is strictly worse, so it keeps the smaller one.  Here
it is the rule of Alg. 1, the larger batch, since W means Alg. 2 to solve the Phase 1 of Alg. 1.

W calls Alg. 2 the exact Phase 1, but a batch whose peaks sum to ≤ M is more restricted than one
that Alg. 1 allows; ``sorted-f-exact`` solves the latter.  The factor 48 of W Theorem 4.1 is stated
for Alg. 1, so no guarantee is claimed here.  Time O(n²M) a batch; an instance whose table needs
more than 1 GiB is refused.

Reference: ``heuristics/reference/sorted_f.py``.
"""

from heuristics.batching import Pool
from heuristics.batching.table import batches_by_peaks
from heuristics.policy import PlanPolicy

POLICY = PlanPolicy("sorted-f-dp", plan=lambda known: batches_by_peaks(Pool.of(known)))
