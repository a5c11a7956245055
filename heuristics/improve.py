"""Improves a priority list for as long as it is given time; never returns a worse one."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from heuristics.policy import Ints
from instances import Instance

#: Moves between two looks at the clock, before the first has shown how long they take.
FIRST_MOVES = 20
#: Seconds between two looks at the clock, about.
CHUNK_SECONDS = 0.2
#: Distance of a move at the beginning and at the end, as a share of the list.
REACH = (0.03, 0.005)
LEAST_REACH = 6
#: Moves without improvement, per request, after which the best list is changed at a few places.
PATIENCE = 150
#: How many exchanges those are, and how far apart the exchanged requests stand at most.
KICKS = 4
KICK_REACH = 12
_LAST_ROUND = (1 << 61) - 1


def improve_list(
    instance: Instance,
    order: Ints,
    *,
    seed: int,
    seconds: float,
    on_better: Callable[[Ints], None],
) -> None:
    """Search by insertions and swaps on a priority list; call ``on_better`` with better lists.

    The schedule of a list is that of the common look-ahead admission.  Lists that are no worse are
    kept (a walk on plateaus included); where nothing improves any more the search starts again from
    the best list with a few exchanges.  Moves get shorter as the time runs out.  The moves
    depend on the seed only, how many of them are tried on the machine's speed.  The compiler is
    imported here, so this runs in an engine's process.

    Parameters
    ----------
    order
        Positions of the requests in list order, shape (n,).
    seconds
        How long to search.
    """
    from heuristics import listsearch

    started = time.monotonic()
    n = len(instance)
    if n < 2:
        return
    order = np.ascontiguousarray(order, dtype=np.int64).copy()
    state = np.array([seed], dtype=np.uint64)
    prompts, outputs, memory = instance.prompts, instance.outputs, instance.memory
    if instance.arrivals.any():
        by_arrival = np.lexsort((np.arange(n), instance.arrivals)).astype(np.int64)
        columns = (instance.arrivals, prompts, outputs, by_arrival)
        work = tuple(np.zeros(n, np.int64) for _ in range(5))

        def evaluate() -> int:
            return int(listsearch.total_with_arrivals(columns, order, memory, work))

        def search(total: int, moves: int, reach: int) -> int:
            return int(
                listsearch.search_with_arrivals(
                    columns, order, total, memory, moves, reach, state, work
                )
            )
    else:
        snapshots = _empty_snapshots(instance)

        def evaluate() -> int:
            return int(
                listsearch.evaluate(
                    order, prompts, outputs, memory, 0, _LAST_ROUND, snapshots, True
                )
            )

        def search(total: int, moves: int, reach: int) -> int:
            return int(
                listsearch.search(
                    order, prompts, outputs, memory, total, moves, reach, state, snapshots
                )
            )

    total = evaluate()
    best, best_total, stale = order.copy(), total, 0
    kicks = np.random.default_rng(seed)
    moves = FIRST_MOVES
    while (elapsed := time.monotonic() - started) < seconds:
        if stale > PATIENCE * n:
            order[:] = best
            _kick(order, kicks)
            total, stale = evaluate(), 0
        share = elapsed / seconds
        reach = max(LEAST_REACH, round(n * (REACH[0] + share * (REACH[1] - REACH[0]))))
        before, chunk_started = total, time.monotonic()
        total = search(total, moves, min(reach, n - 1))
        stale = 0 if total < before else stale + moves
        if total < best_total:
            best[:], best_total = order, total
            on_better(best.copy())
        taken = max(time.monotonic() - chunk_started, 1e-4)
        moves = max(1, min(2 * moves, round(moves * CHUNK_SECONDS / taken), PATIENCE * n))


def _kick(order: Ints, draws: np.random.Generator) -> None:
    """Exchange a few pairs of requests that stand near each other, for a new start."""
    n = len(order)
    for _ in range(KICKS):
        a = int(draws.integers(n))
        b = min(n - 1, max(0, a + int(draws.integers(-KICK_REACH, KICK_REACH + 1))))
        order[a], order[b] = order[b], order[a]


def _empty_snapshots(instance: Instance) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return snapshots of an empty worker (``heuristics.listsearch.evaluate``)."""
    from heuristics.listsearch import EVERY

    n = len(instance)
    shots = n // EVERY + 1
    # Every active request holds at least its prompt and one token.
    width = min(n, instance.memory // (int(instance.prompts.min()) + 1)) + 1
    return (
        np.zeros(shots, np.int64),
        np.zeros(shots, np.int64),
        np.zeros(shots, np.int64),
        np.zeros((shots, width), np.int64),
        np.zeros((shots, width), np.int64),
    )
