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

from heuristics import compiled
from heuristics.admission import Requests
from heuristics.local_search import Search, compile_kernels
from heuristics.policies import fcfs, mc_sf, mc_sf_total, output_peak, svf
from heuristics.policy import Ints, Known, Parameter, PlanPolicy

SIMPLE = (fcfs.rank, mc_sf.rank, mc_sf_total.rank, svf.rank, output_peak.rank)
#: Moves that are drawn at a time.
CHUNK = 10_000


def plan(known: Known) -> Ints:
    """Return the best list that was found."""
    n, moves = len(known), int(known.values["moves"])
    # Arrivals in seconds are searched as if a second were a round.
    arrivals = -(-known.arrivals // known.ticks)
    requests = Requests(arrivals, known.prompts, known.outputs, known.outputs)
    compile_it = n * (moves + len(SIMPLE)) >= compiled.COMPILE_FROM
    orders = []
    for rank in SIMPLE:
        (key,) = rank(known)
        orders.append(np.lexsort((np.arange(n), known.arrivals, key)).astype(np.int64))
    search = Search(requests, known.memory, orders[0], compile_it=compile_it)
    totals = [search.restart(order) for order in orders]
    search.restart(orders[totals.index(min(totals))])
    for first in range(0, moves if n > 1 else 0, CHUNK):
        drawn = [
            (*known.rng.choice(n, 2, replace=False), not known.rng.integers(2))
            for _ in range(min(CHUNK, moves - first))
        ]
        search.try_moves(np.array(drawn, dtype=np.int64))
    return search.order


POLICY = PlanPolicy(
    "local-search",
    offline=True,
    randomised=True,
    warm_up=compile_kernels,
    parameters=(
        Parameter("moves", 1000, 0, 1e7, "insertions and swaps that are tried", integer=True),
    ),
    plan=plan,
)
