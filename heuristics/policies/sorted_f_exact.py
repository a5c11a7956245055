"""Batches of least F that fit when started together, solved exactly (W Alg. 1, Sorted-F).

Clairvoyant.  Orders what waits, anew at every arrival, as batches that minimise Σo / |X|², the
larger among equals, over all sets that stay within M when they start together; shortest output
first inside.  Admission is the common one, as in ``sorted-f-dp``.

W calls this Phase 1 combinatorial; a dynamic program over (size, prompt tokens) solves it, see
``heuristics.batching.batch_table.batches_exactly`` for the proof.  Time O(n²·min(M, Σs)) a batch; a
table of more than 1 GiB is refused.

W Theorem 4.1 states a ratio below 48 when all requests arrive at 0.  It is asymptotic: W (sec. 2)
has the largest peak grow slower than M, and n·(largest peak)/M without end, so of one instance it
says nothing.  Its proof uses W Theorem 4.19, which fails as printed (errata E23).
"""

from heuristics.batching.batch_table import batches_exactly
from heuristics.guarantee import AT_ZERO, Guarantee, constant_ratio
from heuristics.policy import PlanPolicy

POLICY = PlanPolicy(
    "sorted-f-exact",
    plan=batches_exactly,
    guarantees=(
        Guarantee(
            "48",
            "OPT",
            (AT_ZERO,),
            "W Theorem 4.1, whose proof fails: errata E23",
            limit="as M → ∞ with L/M → 0 and n·L/M → ∞, L the largest peak",
            ratio=constant_ratio(48),
        ),
    ),
)
