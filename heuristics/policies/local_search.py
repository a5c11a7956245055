"""Local search on the priority list: annealing from the best simple order.

Clairvoyant, offline and randomised: it knows all requests from the start and serves as a strong
list to compare others with.  It starts from the order of least TEL among ``fcfs``, ``mc-sf``,
``mc-sf-total``, ``svf`` and ``output-peak``.  Each of ``moves`` steps exchanges two requests of the
list or takes some to another place (``heuristics.local_search``, without delays, since what a
policy has is an order).  The result is never worse than the best of those orders; beyond that no
worst-case guarantee is claimed.

Reference: none, no paper states it as pseudocode.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from heuristics import compiled
from heuristics.admission import Requests, starts_in_order
from heuristics.annealing import Columns
from heuristics.local_search import Budget, compile_kernels, improve_starts
from heuristics.policies import fcfs, mc_sf, mc_sf_total, output_peak, svf
from heuristics.policy import Ints, Known, Parameter, PlanPolicy

SIMPLE = (fcfs.rank, mc_sf.rank, mc_sf_total.rank, svf.rank, output_peak.rank)
#: Lists of the search, the best ones, that are tried in the admission.
LISTS = 40


def plan(known: Known) -> Ints:
    """Return the best list that was found."""
    n, moves = len(known), int(known.values["moves"])
    # Arrivals in seconds are searched as if a second were a round.
    arrivals = -(-known.arrivals // known.ticks)
    requests = Requests(arrivals, known.prompts, known.outputs, known.outputs)

    def starts_of(order: Ints) -> Ints:
        return np.array(starts_in_order(requests, order, known.memory), dtype=np.int64)

    keys = [rank(known)[0] for rank in SIMPLE]
    orders = [np.lexsort((np.arange(n), known.arrivals, key)).astype(np.int64) for key in keys]
    simple = [starts_of(order) for order in orders]
    best = min(range(len(simple)), key=lambda k: int(simple[k].sum()))
    found: deque[Ints] = deque(maxlen=LISTS)
    improve_starts(
        Columns(arrivals, known.prompts, known.outputs),
        known.memory,
        simple[best],
        Budget(moves=moves),
        order=np.lexsort((_places(orders[best]), simple[best])),
        seed=int(known.rng.integers(2**63)),
        on_better=lambda _, order: found.append(order),
        delays=False,
        compile_it=n * moves >= compiled.COMPILE_FROM,
    )
    # With arrivals, who is first in a list and has not come yet does not keep others waiting, so
    # the best list of the search need not be the best one here.
    rivals = [orders[best], *found]
    return min(rivals, key=lambda order: int(starts_of(order).sum()))


def _places(order: Ints) -> Ints:
    """Return the place of each request in a list."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


POLICY = PlanPolicy(
    "local-search",
    offline=True,
    randomised=True,
    warm_up=compile_kernels,
    parameters=(
        Parameter("moves", 20_000, 0, 1e7, "insertions and swaps that are tried", integer=True),
    ),
    plan=plan,
)
