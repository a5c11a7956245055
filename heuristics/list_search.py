"""Local search: annealing over lists with delays, from a schedule that is known.

Walk and moves are in ``heuristics.annealing``.  Cycles of annealing follow each other, each from
the best list, with the lengths of Luby, Sinclair and Zuckerman (1993).  A cycle begins at a share
of the mean latency, falls to a sixtieth of that, and is colder with few moves a request.  Which
share suits differs by a factor of ten: each is tried in turn, and every second cycle has the best
so far.  Before the first, requests in order of volume are paced (the k-th does not start before θ ·
(volume so far) / M), and admitted in that order with 1, 2, 4 ... of them passed over: few passes
leave memory unused, many start large requests before small ones (10,000 of mix80-20: 63.0 million
rounds with none, 59.5 with 64, 63.1 with any).  Each cycle ends with a shift to the left.

A number of moves and a seed determine the search; seconds do not.
"""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from heuristics import annealing, gap_filling
from heuristics.admission import Requests, starts_in_order
from heuristics.annealing import (
    DecodedList,
    MoveRules,
    RequestColumns,
    RequestsBySize,
    ScheduledList,
)
from heuristics.gap_filling import BLOCK
from heuristics.kernel_compiler import compiled
from heuristics.policy import Ints
from instances import Instance, Request

#: Temperatures at the beginning of a cycle, in shares of the mean latency.
SHARES = (0.1, 0.03, 0.2, 0.4)
#: Share of the time, and of the mean latency, of the cycle before all others.
QUICK = (0.05, 0.03)
#: Factor by which the temperature falls during a cycle.
COOLING = 60.0
#: Moves a request below which a cycle begins colder, in proportion.
COLD_BELOW = 2_000
#: Moves of the shortest cycle, per request.
CYCLE_MOVES = 5_000
#: Steps in which the temperature falls during a cycle, and seconds that one takes at most.
STEPS, STEP_SECONDS = 100, 0.2
#: Share of the moves that change a delay, and requests from which on it is less.
DELAYED, DELAYED_LARGE, LARGE = 0.05, 0.03, 500
#: Share of the moves that exchange requests of similar size, and requests from and up to which it
#: is that: few gain nothing, and among many the list is decoded over a long way.
SIMILAR, SIMILAR_FROM, SIMILAR_UP_TO = 0.2, 80, 100
#: Requests up to which every place is changed as often; with more, places are drawn by time too.
PLACES_UP_TO = 100
#: Places after the last changed one up to which a list may have fallen behind.
WIDE = 10
#: Requests running at a start, per round of an output, from which on tokens are kept by time.
DENSE_FROM = 1 / 8
#: Rounds up to which they are.
ROUNDS_UP_TO = 4_000_000
#: Moves of one step, at least.
LEAST_STEP = 20
#: Moves a second that are assumed before the first have been made.
FIRST_RATE = 2_000.0
#: Shares of the volume by which starts are paced.
PACES = tuple(0.1 * k for k in range(17))
#: Above every sum that may occur.
_ANY = 1 << 61


class SearchBudget:
    """Budget of a search: seconds, or moves."""

    def __init__(self, *, seconds: float | None = None, moves: int | None = None) -> None:
        self.in_moves = seconds is None
        self.size = float((moves if seconds is None else seconds) or 0)
        self._made, self._start = 0, time.monotonic()
        #: Moves in a unit of the size.
        self.rate = 1.0 if self.in_moves else FIRST_RATE

    @property
    def spent(self) -> float:
        """Seconds or moves so far."""
        return float(self._made) if self.in_moves else time.monotonic() - self._start

    @property
    def left(self) -> float:
        """Seconds or moves that are left."""
        return self.size - self.spent

    def step(self, size: float) -> int:
        """Return how many moves are one step of a cycle of this size."""
        if self.in_moves:
            return int(max(1, min(max(size / STEPS, LEAST_STEP), self.left)))
        return int(max(self.rate * min(size / STEPS, STEP_SECONDS), LEAST_STEP))

    def took(self, moves: int, seconds: float) -> None:
        """Take note of a step."""
        self._made += moves
        if not self.in_moves:
            # A step that was held up says nothing; the next must not become a hundred times longer.
            self.rate = min(2 * self.rate, max(self.rate / 4, moves / max(seconds, 1e-6)))


class ListSearch:
    """A list that is being improved."""

    def __init__(
        self,
        columns: RequestColumns,
        memory: int,
        starts: Ints,
        *,
        order: Ints | None = None,
        seed: int,
        delays: bool = True,
        compile_it: bool = True,
    ) -> None:
        """Begin with a feasible schedule: ``starts`` by request, shape (n,)."""
        self._as_run: Callable[..., Any] = compiled if compile_it else lambda function: function
        self._columns = RequestColumns(*(np.ascontiguousarray(each, np.int64) for each in columns))
        self._memory = int(memory)
        n = len(starts)
        # Most of many requests start in the first rounds, where exchanges win little and cost much.
        by_time = 1.0 - min(1.0, PLACES_UP_TO / n)
        shares = _shares(n) if delays else (0.0, 0.0)
        self._rules = MoveRules(*shares, by_time, WIDE, _sizes(self._columns))
        self._state = np.array([seed], dtype=np.uint64)
        self._trial = _spaces(self._columns, self._memory, starts)
        self._walk = ScheduledList(*(np.zeros(n + more, np.int64) for more in (0, 0, 0, 1, 1, 1)))
        self._best = tuple(self._walk.order.copy() for _ in range(3))
        self._totals = np.zeros(4, np.int64)
        self._totals[1] = _ANY
        self.load(starts, order)

    @property
    def best_order(self) -> Ints:
        """Positions of the requests in the order of the best list, shape (n,)."""
        return np.array(self._best[0], dtype=np.int64)

    @property
    def total(self) -> int:
        """Σ starts (rounds) of the list."""
        return int(self._totals[0])

    @property
    def best_total(self) -> int:
        """Σ starts of the best list."""
        return int(self._totals[1])

    def load(self, starts: Ints, order: Ints | None = None) -> None:
        """Go on from a feasible schedule, by request, or from the list behind it."""
        if order is None:
            order = np.argsort(starts, kind="stable")
        self._walk.order[:] = order
        targets = np.ascontiguousarray(starts, np.int64)[order]
        self._totals[0] = self._follow(targets, delayed=self._rules.delayed > 0)
        if self.total < self.best_total:
            self._totals[1] = self.total
            for best, own in zip(self._best, self._walk, strict=False):
                best[:] = own

    def _follow(self, targets: Ints, *, delayed: bool) -> int:
        """Decode the list anew (``annealing.follow``)."""
        follow = self._as_run(annealing.follow)
        return int(follow(self._walk, self._columns, self._memory, targets, delayed, self._trial))

    def anneal(self, moves: int, temperature: float) -> None:
        """Try some moves at a temperature (rounds)."""
        state = self._walk, self._columns, self._memory, self._best, self._totals, self._state
        self._as_run(annealing.anneal)(*state, moves, temperature, self._rules, self._trial)

    def pace(self, order: Ints) -> None:
        """Go on from the best paced schedule of a list, if it is better than the best."""
        known, best = self.best_total, self.best()
        volumes = np.cumsum(_volumes(self._columns)[order])
        before = np.concatenate(([0.0], volumes[:-1]))
        for share in PACES:
            self._walk.order[:] = order
            total = self._follow((share * before / self._memory).astype(np.int64), delayed=True)
            if total < known:
                known = total
                best[order] = self._walk.starts
        self.load(best)

    def best(self) -> Ints:
        """Return the starts of the best schedule, by request, shape (n,)."""
        starts = np.zeros(len(self._best[0]), dtype=np.int64)
        starts[self._best[0]] = self._best[2]
        return starts

    def pass_over(self, order: Ints, budget: SearchBudget) -> None:
        """Go on from the best schedule of admission in an order with 1, 2, 4 ... passes a round."""
        requests = Requests(*self._columns, self._columns.outputs)
        for power in range(len(order).bit_length()):
            starts = starts_in_order(requests, order, self._memory, passes=1 << power)
            if sum(starts) < self.best_total:
                self.load(np.array(starts, dtype=np.int64))
            if budget.spent > QUICK[0] * budget.size:
                break
        self.load(self.best())

    def polish(self) -> None:
        """Go on from the best schedule, with delays each request as early as others let it."""
        starts = self.best()
        if self._rules.delayed == 0:
            self.load(starts, self.best_order)
            return
        rounds = int((starts + self._columns.outputs).max()) + 2
        if rounds <= ROUNDS_UP_TO:
            by_start = np.argsort(starts, kind="stable")
            profile = (np.zeros(rounds, np.int32), np.zeros(rounds // BLOCK + 1, np.int32))
            shift = self._as_run(gap_filling.shift_left)
            shift(self._columns, self._memory, by_start, starts, profile)
        self.load(starts)


def _spaces(columns: RequestColumns, memory: int, starts: Ints) -> DecodedList:
    """Return what decoding fills; tokens by time only where many requests run at once."""
    n, outputs = len(starts), columns.outputs
    # Every active request holds at least its prompt and one token.
    width = 2 * (min(n, memory // (int(columns.prompts.min()) + 1)) + 1)
    end = int((starts + outputs).max())
    # Before the k-th start k − 1 requests have started, less those that have ended.
    ended = np.searchsorted(np.sort(starts + outputs), starts, side="right")
    running = (n - 1) / 2 - float(ended.mean())
    rounds = end + end // 4 + 2 * int(outputs.max()) + 2
    dense = running >= DENSE_FROM * float(outputs.mean()) and rounds <= ROUNDS_UP_TO
    tokens = np.zeros(rounds if dense else 0, np.int32)
    by_end = np.zeros((2, width), np.int64)
    return DecodedList(np.zeros(n, np.int64), by_end[0], by_end[1], tokens)


def _shares(n: int) -> tuple[float, float]:
    """Return the shares of the moves that change a delay, and that exchange similar requests."""
    fewer = min(1.0, SIMILAR_UP_TO / n) if n >= SIMILAR_FROM else 0.0
    if n < LARGE:
        return DELAYED, SIMILAR * fewer
    return DELAYED_LARGE, SIMILAR * fewer**2


def _sizes(columns: RequestColumns) -> RequestsBySize:
    """Return the requests by output and by prompt."""
    keys = ((columns.prompts, columns.outputs), (columns.outputs, columns.prompts))
    requests = np.array([np.lexsort(each) for each in keys], dtype=np.int64)
    return RequestsBySize(requests, np.argsort(requests, axis=1).astype(np.int64))


def fits_in_words(columns: RequestColumns, starts: Ints) -> bool:
    """Return whether no sum of a search can exceed 64 bits.

    A list is dropped where its total exceeds a threshold, a few temperatures above the first one;
    so no start is more than a delay and an output above that.  Lists that are decoded whole end by
    the last arrival and all outputs one after the other; a pace adds no more than the outputs.
    """
    n, end = len(starts), int((starts + columns.outputs).max())
    end = max(end, int(columns.arrivals.max()) + sum(columns.outputs.tolist()))
    return bool(n * (4 * end + 4 * int(columns.outputs.max()) + (1 << 32)) < _ANY)


def search_lists(
    search: ListSearch, budget: SearchBudget, latency: float, on_better: Callable[[], None]
) -> None:
    """Anneal until the budget is spent; ``latency`` is the mean one (rounds) of the beginning."""
    shortest = CYCLE_MOVES * len(search.best_order)
    size = min(QUICK[0] * budget.size, shortest / budget.rate)
    _cycle(search, budget, QUICK[1] * latency, size, on_better)
    ends: list[list[int]] = [[] for _ in SHARES]
    for k in count():
        search.polish()
        on_better()
        if budget.left <= 0:
            break
        # Each temperature in turn, and in between the one whose cycles have ended best.
        turn = k // 2 if k >= len(SHARES) else k
        chosen = turn % len(SHARES)
        if k >= len(SHARES) and k % 2:
            chosen = min(range(len(SHARES)), key=lambda each: sum(ends[each]) / len(ends[each]))
        size = shortest / budget.rate * luby(k + 1)
        # No rest that is too short for a cycle.
        size = budget.left if budget.left < 1.5 * size else size
        ends[chosen].append(_cycle(search, budget, SHARES[chosen] * latency, size, on_better))


def luby(k: int) -> int:
    """Return the k-th length (from 1 on) of restarts: 1, 1, 2, 1, 1, 2, 4, 1 ..."""
    while (k + 1) & k:
        k -= (1 << (k.bit_length() - 1)) - 1
    return (k + 1) >> 1


def _cycle(
    search: ListSearch,
    budget: SearchBudget,
    temperature: float,
    size: float,
    on_better: Callable[[], None],
) -> int:
    """Anneal from a temperature down, over a size in the budget's measure; return the least Σ."""
    spent, least = budget.spent, search.total
    temperature *= min(1.0, size * budget.rate / (COLD_BELOW * len(search.best_order)))
    while budget.left > 0 and (share := (budget.spent - spent) / max(size, 1e-9)) < 1:
        moves = budget.step(size)
        known, started = search.best_total, time.monotonic()
        search.anneal(moves, temperature * COOLING**-share)
        budget.took(moves, time.monotonic() - started)
        least = min(least, search.total)
        if search.best_total < known:
            least = min(least, search.best_total)
            on_better()
    return least


def improve_starts(
    columns: RequestColumns,
    memory: int,
    starts: Ints,
    budget: SearchBudget,
    *,
    order: Ints | None = None,
    seed: int,
    on_better: Callable[[Ints, Ints], None] = lambda _, __: None,
    delays: bool = True,
    compile_it: bool = True,
) -> tuple[Ints, Ints]:
    """Search from a schedule; return the best starts by request, and the order of their list.

    ``on_better`` receives each better pair.  ``order`` is a list that has the starts given, by
    start if left out.  Without ``delays`` no request waits for later ones: the result is the
    schedule of an order where all arrive together, and may be worse than ``starts``.
    """
    if len(starts) < 2 or budget.size <= 0 or not fits_in_words(columns, starts):
        return starts, np.argsort(starts, kind="stable") if order is None else order
    search = ListSearch(
        columns, memory, starts, order=order, seed=seed, delays=delays, compile_it=compile_it
    )
    known = search.best_total

    def report() -> None:
        nonlocal known
        if search.best_total < known:
            known = search.best_total
            on_better(search.best(), search.best_order)

    latency = float((starts + columns.outputs - columns.arrivals).mean())
    # Interpreted, the generator of random words warns of the overflow that it lives on.
    with np.errstate(over="ignore"):
        if delays:
            _begin(search, columns, starts, budget)
            report()
        search_lists(search, budget, latency, report)
    return search.best(), search.best_order


def _begin(search: ListSearch, columns: RequestColumns, starts: Ints, budget: SearchBudget) -> None:
    """Find the first schedules, and go on from the paced one, where annealing ends better."""
    volume = by_volume(columns)
    search.pace(np.argsort(starts, kind="stable") if columns.arrivals.any() else volume)
    paced = search.best()
    search.pass_over(volume, budget)
    search.polish()
    search.load(paced)


def columns_of(instance: Instance) -> RequestColumns:
    """Return arrivals, prompts and outputs."""
    return RequestColumns(instance.arrivals, instance.prompts, instance.outputs)


def by_volume(columns: RequestColumns) -> Ints:
    """Return the requests by volume, smallest first."""
    return np.argsort(_volumes(columns), kind="stable")


def _volumes(columns: RequestColumns) -> Any:
    outputs = columns.outputs.astype(np.float64)
    return outputs * (columns.prompts + 0.5 * (outputs + 1))


def compile_kernels() -> None:
    """Compile what the search runs."""
    requests = tuple(Request(i, 0, 1, 1 + i) for i in range(3))
    instance = Instance("three", 6, requests)
    search = ListSearch(columns_of(instance), 6, np.array([0, 2, 5]), seed=0)
    search.pace(np.arange(3))
    search.anneal(1, 1.0)
    search.polish()
