"""Local search on the priority list: annealing from the best simple order.

Clairvoyant, offline and randomised.  It starts from the order of least TEL among ``fcfs``,
``mc-sf``, ``mc-sf-total``, ``svf``, ``swf`` and ``output-peak``.  Each of ``moves`` steps exchanges
two requests of the list or takes some to another place (``heuristics.list_search``, without
delays, since what a policy has is an order).  In seconds the search is in rounds of the mean length
with full memory, and the best lists are compared on the clock.  The result is never worse than the
best of those orders; no other worst-case guarantee is claimed.

No paper states it as pseudocode, so it has no function in ``heuristics/reference``.
"""

from collections import deque

import numpy as np

from heuristics import kernel_compiler
from heuristics.admission import Requests, starts_in_order, starts_in_time
from heuristics.annealing import RequestColumns
from heuristics.list_search import SearchBudget, compile_kernels, improve_starts
from heuristics.machine_time import machine_time
from heuristics.policies import fcfs, mc_sf, mc_sf_total, output_peak, svf, swf
from heuristics.policy import UNIT_ROUND, Ints, Known, Parameter, PlanPolicy

SIMPLE = (fcfs.POLICY, mc_sf.POLICY, mc_sf_total.POLICY, svf.POLICY, swf.POLICY, output_peak.POLICY)
#: Lists of the search, the best ones, that are tried in the admission.
LISTS = 40
#: Rounds in which all arrive at most where the search is one of seconds.
ROUNDS = 10**6


def plan(known: Known) -> Ints:
    """Return the best list that was found."""
    n, moves = len(known), int(known.values["moves"])
    arrivals = -(-known.arrivals // _round_length(known))
    requests = Requests(arrivals, known.prompts, known.outputs, known.outputs)

    def starts_of(order: Ints) -> Ints:
        return np.array(starts_in_order(requests, order, known.memory), dtype=np.int64)

    keys = [policy.rank(known)[0] for policy in SIMPLE]
    orders = [np.lexsort((np.arange(n), known.arrivals, key)).astype(np.int64) for key in keys]
    simple = [starts_of(order) for order in orders]
    best = min(range(len(simple)), key=lambda k: int(simple[k].sum()))
    found: deque[Ints] = deque(maxlen=LISTS)
    improve_starts(
        RequestColumns(arrivals, known.prompts, known.outputs),
        known.memory,
        simple[best],
        SearchBudget(moves=moves),
        order=np.lexsort((np.argsort(orders[best]), simple[best])),
        seed=int(known.rng.integers(2**63)),
        on_better=lambda _, order: found.append(order),
        delays=False,
        compile_it=n * moves >= kernel_compiler.COMPILE_FROM,
    )
    # With arrivals, who is first in a list and has not come yet does not keep others waiting, so
    # the best list of the search need not be the best one here.
    requests = requests._replace(arrivals=known.arrivals)
    return min([orders[best], *orders, *found], key=lambda order: _total(known, requests, order))


def _round_length(known: Known) -> int:
    """Return the mean length of full rounds, such that all arrive within :data:`ROUNDS` of them."""
    if known.batch_time is UNIT_ROUND:
        return 1
    every = list(zip(known.prompts.tolist(), known.outputs.tolist(), strict=True))
    model, memory = known.batch_time, known.memory
    works = sum(machine_time(model, memory, s, o, prefilled=False) for s, o in every)
    most = int(known.arrivals.max()) // ROUNDS
    length: int = max(1, most, works // (1000 * sum(s * o + o * (o + 1) // 2 for s, o in every)))
    return length


def _total(known: Known, requests: Requests, order: Ints) -> int:
    """Return a sum of completions, or of starts in rounds, that only the order decides."""
    if known.batch_time is UNIT_ROUND:
        return sum(starts_in_order(requests, order, known.memory))
    return sum(starts_in_time(requests, order, known.memory, known.batch_time)[1])


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
