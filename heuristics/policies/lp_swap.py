"""Batches by expected start in the LP relaxation, then local swaps by F (W Alg. 7, LP-Swap).

Clairvoyant and offline: the relaxation is solved over all requests, those that have not arrived
too.  A batch starts as the requests that fit into M together, taken by ascending y = Σ t·x* (the
advice, rounds; ties by arrival, then by position) and passing over misfits; swaps improve it as in
``sorted-f-swap``, by ascending peak.  Inside a batch the shortest output comes first; admission is
the common one.  No worst-case guarantee is claimed, by W neither.
"""

import numpy as np
from numpy.typing import NDArray

from heuristics.batching.swap import batches_by_swaps_from
from heuristics.policy import AdvisedPolicy, Ints, Known


def order(known: Known, advice: NDArray[np.float64]) -> Ints:
    """Batch by batch, shortest output first inside."""
    return np.concatenate(list(batches_by_swaps_from(known, known.sorted_by(advice))))


POLICY = AdvisedPolicy("lp-swap", offline=True, order=order)
