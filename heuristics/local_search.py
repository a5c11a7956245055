"""Local search on priority lists: insertions and exchanges; a list that is no worse is kept.

The schedule of a list is that of the common look-ahead admission, and its worth the sum of its
start rounds, which differs from TEL by a constant.  The policy ``local-search`` tries so many moves
anywhere in the list, the engine ``improve`` moves that get shorter while it has time; both are
``Search.try_moves`` on moves that are drawn beforehand, since no draw depends on what is kept.

Where all requests arrive at round 0 the admission takes them strictly in list order, so what
happens before the first changed place depends on the places before it only.  Snapshots of the
worker every few places let a changed list be evaluated from the last one before the change, and the
evaluation stops as soon as its total must exceed the threshold.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from heuristics.admission import (
    NEVER,
    Active,
    Column,
    Line,
    Requests,
    as_integers,
    first_feasible,
    insert,
    line_of,
    run_in_order,
)
from heuristics.compiled import compiled, kernel
from heuristics.policy import Ints
from instances import Instance, Request

#: Places between two snapshots.
EVERY = 16
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
#: Above every sum of starts; a threshold that cuts nothing.
_ANY = NEVER - 1


class Snapshots(NamedTuple):
    """The worker every ``EVERY`` places: round, Σ starts, and the active requests, by snapshot."""

    rounds: Ints
    sums: Ints
    actives: Ints
    ends: Ints
    bases: Ints


class Scratch(NamedTuple):
    """What the evaluation with arrivals fills: ranks and starts, and space for the admission."""

    ranks: Column
    by_arrival: Column
    active: Active
    starts: Column


@kernel
def next_random(state):
    """Return a random 64-bit word (splitmix64) and advance the state, an array of shape (1,)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def below(state, n):
    """Return a random integer from 0..n−1."""
    return np.int64((next_random(state) >> np.uint64(11)) % np.uint64(n))


@kernel
def draw_moves(state, n, reach, moves):
    """Fill moves, shape (k, 3), with two places at most ``reach`` apart and whether to exchange.

    Return how many there are: a draw that leads out of the list, or nowhere, is none.
    """
    drawn = 0
    for _ in range(len(moves)):
        a = below(state, n)
        b = a + below(state, 2 * reach + 1) - reach
        if b < 0 or b >= n or a == b:
            continue
        moves[drawn, 0] = a
        moves[drawn, 1] = b
        moves[drawn, 2] = 1 if below(state, 2) == 0 else 0
        drawn += 1
    return drawn


@kernel
def apply_move(order, a, b, exchange):
    """Exchange the requests at two places, or move the one at ``a`` to ``b``."""
    moved = order[a]
    if exchange:
        order[a] = order[b]
        order[b] = moved
        return
    step = 1 if b > a else -1
    position = a
    while position != b:
        order[position] = order[position + step]
        position += step
    order[b] = moved


@kernel
def evaluate(order, prompts, outputs, memory, first, threshold, snapshots, keep):
    """Return Σ starts of a list, or a number above ``threshold`` once the sum must exceed it.

    Parameters
    ----------
    first : int
        Places before it are as they were when the snapshots were taken.
    snapshots : Snapshots
        Of the list as it was.
    keep : bool
        Whether to write the snapshots after ``first`` anew.
    """
    rounds, sums, actives, snap_ends, snap_bases = snapshots
    n = len(order)
    shot = first // EVERY
    pointer = shot * EVERY
    now, total = rounds[shot], sums[shot]
    width = snap_ends.shape[1]
    ends = np.empty(2 * width, np.int64)
    bases = np.empty(2 * width, np.int64)
    active = Active(ends, bases, np.empty(2 * width, np.int64))
    low, high = 0, actives[shot]
    base_total = 0
    for k in range(high):
        ends[k] = snap_ends[shot, k]
        bases[k] = snap_bases[shot, k]
        base_total += bases[k]
    while pointer < n:
        if keep and pointer % EVERY == 0:
            shot = pointer // EVERY
            rounds[shot], sums[shot], actives[shot] = now, total, high - low
            for k in range(low, high):
                snap_ends[shot, k - low] = ends[k]
                snap_bases[shot, k - low] = bases[k]
        # Every start still to come is at ``now`` or later.
        if total + (n - pointer) * now > threshold:
            return threshold + 1
        request = order[pointer]
        prompt, output = prompts[request], outputs[request]
        while True:
            while low < high and ends[low] <= now:
                base_total -= bases[low]
                low += 1
            limit = ends[low] if low < high else NEVER
            begin = limit
            if base_total + (high - low) * (now + 1) + prompt + 1 <= memory:
                begin = first_feasible(
                    active, low, high, base_total, prompt, output, memory, now, limit
                )
            now = begin
            if begin < limit:
                break
        total += now
        pointer += 1
        low, high = insert(active, low, high, now + output, prompt - now, request)
        base_total += prompt - now
    return total


@kernel
def evaluate_arrivals(order, requests, memory, scratch):
    """Return Σ starts of a list whose requests arrive over time."""
    ranks, by_arrival, active, starts = scratch
    for place in range(len(order)):
        ranks[order[place]] = place
    run_in_order(requests, Line(order, ranks, by_arrival), memory, False, active, starts)
    return starts.sum()


@kernel
def try_moves(order, total, moves, requests, memory, snapshots):
    """Try moves on a list in place, keep those that are no worse; return the new Σ starts."""
    _, prompts, _, outputs = requests
    for k in range(len(moves)):
        a, b, exchange = moves[k, 0], moves[k, 1], moves[k, 2]
        first = min(a, b)
        apply_move(order, a, b, exchange)
        trial = evaluate(order, prompts, outputs, memory, first, total, snapshots, False)
        if trial > total:
            apply_move(order, b, a, exchange)
            continue
        total = trial
        evaluate(order, prompts, outputs, memory, first, _ANY, snapshots, True)
    return total


@kernel
def try_moves_arrivals(order, total, moves, requests, memory, scratch):
    """As ``try_moves`` for requests that arrive over time; a list is evaluated from its start."""
    for k in range(len(moves)):
        a, b, exchange = moves[k, 0], moves[k, 1], moves[k, 2]
        apply_move(order, a, b, exchange)
        trial = evaluate_arrivals(order, requests, memory, scratch)
        if trial > total:
            apply_move(order, b, a, exchange)
        else:
            total = trial
    return total


class Search:
    """A list that is being improved.

    Attributes
    ----------
    order
        Positions of the requests in list order, shape (n,); changed in place by the moves.
    total
        Its Σ starts (rounds).
    """

    def __init__(self, requests: Requests, memory: int, order: Ints, *, compile_it: bool) -> None:
        """Evaluate a list (``order``, shape (n,)), by compiled kernels if so said."""
        self._as_run: Callable[..., Any] = compiled if compile_it else lambda function: function
        self._requests, self._memory = as_integers(requests), memory
        self._arrivals = bool(self._requests.arrivals.any())
        n = len(order)
        line = line_of(self._requests.arrivals, order)
        spaces = [np.zeros(n, np.int64) for _ in range(4)]
        self._scratch = Scratch(line.ranks, line.by_arrival, Active(*spaces[:3]), spaces[3])
        self._snapshots = empty_snapshots(self._requests, memory)
        self.order: Ints = line.by_rank.copy()
        self.total: int = self._evaluate()

    def restart(self, order: Ints) -> int:
        """Go on from another list; return its total."""
        self.order[:] = order
        self.total = self._evaluate()
        return self.total

    def try_moves(self, moves: Ints) -> None:
        """Try moves, shape (k, 3): two different places, and 1 to exchange or 0 to insert."""
        run, state = (
            (try_moves_arrivals, self._scratch) if self._arrivals else (try_moves, self._snapshots)
        )
        arguments = (self.order, self.total, moves, self._requests, self._memory, state)
        self.total = int(self._as_run(run)(*arguments))

    def _evaluate(self) -> int:
        if self._arrivals:
            run = self._as_run(evaluate_arrivals)
            return int(run(self.order, self._requests, self._memory, self._scratch))
        _, prompts, _, outputs = self._requests
        run = self._as_run(evaluate)
        arguments = (self.order, prompts, outputs, self._memory)
        return int(run(*arguments, 0, _ANY, self._snapshots, True))


def empty_snapshots(requests: Requests, memory: int) -> Snapshots:
    """Return snapshots of an empty worker."""
    n = len(requests.prompts)
    shots = n // EVERY + 1
    # Every active request holds at least its prompt and one token.
    width = min(n, memory // (int(requests.prompts.min()) + 1)) + 1
    counts = (np.zeros(shots, np.int64) for _ in range(3))
    return Snapshots(*counts, *(np.zeros((shots, width), np.int64) for _ in range(2)))


def improve_list(
    instance: Instance,
    order: Ints,
    *,
    seed: int,
    seconds: float,
    on_better: Callable[[Ints], None],
) -> None:
    """Search for some time from a list; call ``on_better`` with better lists, never a worse one.

    A walk on plateaus is part of it; where nothing improves any more the search starts again from
    the best list with a few exchanges.  Moves get shorter as the time runs out.  The moves depend
    on the seed only, how many of them are tried on the machine's speed.  The compiler is imported
    here, so this runs in an engine's process.

    Parameters
    ----------
    order
        Positions of the requests in list order, shape (n,).
    seconds
        How long to search.
    """
    started = time.monotonic()
    n = len(instance)
    if n < 2:
        return
    outputs = instance.outputs
    requests = Requests(instance.arrivals, instance.prompts, outputs, outputs)
    search = Search(requests, instance.memory, order, compile_it=True)
    draw = compiled(draw_moves)
    state = np.array([seed], dtype=np.uint64)
    best, best_total, stale = search.order.copy(), search.total, 0
    kicks = np.random.default_rng(seed)
    moves = FIRST_MOVES
    while (elapsed := time.monotonic() - started) < seconds:
        if stale > PATIENCE * n:
            search.restart(_kicked(best, kicks))
            stale = 0
        share = elapsed / seconds
        reach = max(LEAST_REACH, round(n * (REACH[0] + share * (REACH[1] - REACH[0]))))
        before, chunk_started = search.total, time.monotonic()
        drawn = np.empty((moves, 3), np.int64)
        search.try_moves(drawn[: draw(state, n, min(reach, n - 1), drawn)])
        stale = 0 if search.total < before else stale + moves
        if search.total < best_total:
            best[:], best_total = search.order, search.total
            on_better(best.copy())
        taken = max(time.monotonic() - chunk_started, 1e-4)
        moves = max(1, min(2 * moves, round(moves * CHUNK_SECONDS / taken), PATIENCE * n))


def _kicked(order: Ints, draws: np.random.Generator) -> Ints:
    """Return a list with a few pairs exchanged of requests that stand near each other."""
    n, order = len(order), order.copy()
    for _ in range(KICKS):
        a = int(draws.integers(n))
        b = min(n - 1, max(0, a + int(draws.integers(-KICK_REACH, KICK_REACH + 1))))
        order[a], order[b] = order[b], order[a]
    return order


def compile_kernels() -> None:
    """Compile what the search runs, once for requests that come together and once for others."""
    order = np.arange(3, dtype=np.int64)
    for arrival in (0, 1):
        requests = tuple(Request(i, arrival * i, 1, 1 + i) for i in range(3))
        # What comes first takes all of the first time; only then is there time for the moves.
        for seconds in (1e-9, 0.05):
            improve_list(
                Instance("three", 6, requests),
                order,
                seed=0,
                seconds=seconds,
                on_better=lambda _: None,
            )
