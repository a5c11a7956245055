"""Local search on the priority list: random insertions and swaps from the best simple order.

Clairvoyant, offline and randomised: it knows all requests from the start and serves as a strong
list to compare others with.  It starts from the order of least TEL among ``fcfs``, ``mc-sf``,
``mc-sf-total``, ``svf`` and ``output-peak``.  Each of ``moves`` steps takes one request to another
place or exchanges two, with equal chance, and keeps the new list if its schedule under the common
admission is no worse.  So the result is never worse than the best of those orders; beyond that no
worst-case guarantee is claimed.

Reference: none, no paper states it as pseudocode.
"""

from __future__ import annotations

import numpy as np

from heuristics.compiled import kernels
from heuristics.policies import fcfs, mc_sf, mc_sf_total, output_peak, svf
from heuristics.policy import Ints, Known, Parameter, PlanPolicy

SIMPLE = (fcfs.rank, mc_sf.rank, mc_sf_total.rank, svf.rank, output_peak.rank)


class _Evaluation:
    """The sum of start rounds under the common admission, which differs from TEL by a constant."""

    def __init__(self, known: Known, runs: int) -> None:
        n = len(known)
        self._known = known
        # Arrivals in seconds are searched as if they were rounds.
        self._arrivals = np.ceil(known.arrivals).astype(np.int64)
        self._by_arrival = np.lexsort((np.arange(n), self._arrivals))
        self._kernels = kernels(n * runs)

    def __call__(self, order: Ints) -> int:
        known = self._known
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        starts = self._kernels.run_in_order(
            self._arrivals,
            known.prompts,
            known.outputs,
            known.outputs,
            order,
            ranks,
            self._by_arrival,
            known.memory,
            False,
        )
        return sum(starts)


def plan(known: Known) -> Ints:
    """Return the best list that was found."""
    n, moves = len(known), int(known.values["moves"])
    evaluate = _Evaluation(known, moves + len(SIMPLE))
    orders = []
    for rank in SIMPLE:
        (key,) = rank(known)
        orders.append(np.lexsort((np.arange(n), known.arrivals, key)).astype(np.int64))
    totals = [evaluate(order) for order in orders]
    total = min(totals)
    best = orders[totals.index(total)]
    for _ in range(moves if n > 1 else 0):
        a, b = known.rng.choice(n, 2, replace=False)
        if known.rng.integers(2):
            trial = np.insert(np.delete(best, a), b, best[a])
        else:
            trial = best.copy()
            trial[a], trial[b] = best[b], best[a]
        trial_total = evaluate(trial)
        if trial_total <= total:
            best, total = trial, trial_total
    return best


POLICY = PlanPolicy(
    "local-search",
    offline=True,
    randomised=True,
    compiled=True,
    parameters=(
        Parameter("moves", 1000, 0, 1e7, "insertions and swaps that are tried", integer=True),
    ),
    plan=plan,
)
