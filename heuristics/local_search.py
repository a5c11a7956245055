"""Local search: annealing over lists with delays, from a schedule that is known.

The walk and its moves are those of ``heuristics.annealing``; above 100 requests moves are drawn by
time too. Cycles of annealing follow each other, every one from the best list so far, and of the
lengths of Luby, Sinclair and Zuckerman (1993): short ones with long ones in between, since on some
instances (many arrivals) how a cycle ends is a matter of luck, and on others of its length. A cycle
begins at a share of the mean latency, falls to a sixtieth of that, and is colder where there are
few moves for each request. Which share suits depends on the instance by a factor of ten, so each is
tried in turn, and every second cycle has the one whose cycles have ended best. Before the first,
requests in order of their volumes are paced: the k-th does not start before θ times the volume so
far over M. And they are admitted in that order, while 1, 2, 4 ... that do not fit are passed over
in a round: with few passes memory is left unused, with many large requests start before small ones
(10,000 of mix80-20: with none 63.0 million rounds, with 64 passes 59.5, with any number 63.1).
After each cycle the best schedule is shifted to the left.

In a number of moves the search is determined by its seed.  In seconds, how many moves there are,
and with them when it cools down, depends on the machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from heuristics import annealing, gap_filling
from heuristics.admission import Requests, starts_in_order
from heuristics.annealing import Columns, Rules, Sizes, Trial, Walk
from heuristics.compiled import compiled
from heuristics.gap_filling import BLOCK
from heuristics.policy import Ints
from instances import Instance, Request

#: Temperatures at the beginning of a cycle, in shares of the mean latency.
SHARES = (0.1, 0.03, 0.2, 0.4)
#: Share of the time, and of the mean latency, of the cycle before all others.
QUICK = (0.05, 0.03)
#: By what the temperature falls during a cycle.
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
#: is that: few requests gain nothing by it, and among many such requests stand far apart, and the
#: list is decoded from the one to the other.
SIMILAR, SIMILAR_FROM, SIMILAR_UP_TO = 0.2, 80, 100
#: Requests up to which every place of a list is changed as often as another; with more of them,
#: places are chosen by time as well.
PLACES_UP_TO = 100
#: Places after the last changed one up to which a list may have fallen behind.
WIDE = 10
#: Requests that run at once when one starts, for each round of an output, from which on the tokens
#: held are kept by time.
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


class Budget:
    """How long a search may take: so many seconds, or so many moves."""

    def __init__(self, *, seconds: float | None = None, moves: int | None = None) -> None:
        self.in_moves = seconds is None
        self.size = float((moves if seconds is None else seconds) or 0)
        self.made = 0
        self._begun = time.monotonic()
        self._rate = FIRST_RATE

    def moves(self, size: float) -> float:
        """Return how many moves fit in a size, by the last steps."""
        return size if self.in_moves else size * self._rate

    @property
    def spent(self) -> float:
        """Seconds or moves so far."""
        return float(self.made) if self.in_moves else time.monotonic() - self._begun

    @property
    def left(self) -> float:
        """Seconds or moves that are left."""
        return self.size - self.spent

    def cost(self, moves: float) -> float:
        """Return what so many moves take, by the last steps."""
        return moves if self.in_moves else moves / self._rate

    def step(self, size: float) -> int:
        """Return how many moves are one step of a cycle of this size."""
        step = size / STEPS if self.in_moves else self._rate * min(size / STEPS, STEP_SECONDS)
        most = self.left if self.in_moves else math.inf
        return int(max(1, min(max(step, LEAST_STEP), most)))

    def took(self, moves: int, seconds: float) -> None:
        """Take note of a step."""
        self.made += moves
        # A step that was held up says nothing, and the next must not become a hundred times longer.
        self._rate = min(2 * self._rate, max(self._rate / 4, moves / max(seconds, 1e-6)))


class Search:
    """A list that is being improved.

    Attributes
    ----------
    total
        Σ starts (rounds) of the list.
    best_total
        Σ starts of the best so far.
    """

    def __init__(
        self,
        columns: Columns,
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
        self._columns = Columns(*(np.ascontiguousarray(each, np.int64) for each in columns))
        self._memory = int(memory)
        n = len(starts)
        self._rules = Rules(
            *(_shares(n) if delays else (0.0, 0.0)), _by_time(n), WIDE, _sizes(self._columns)
        )
        self._state = np.array([seed], dtype=np.uint64)
        self._trial = _spaces(self._columns, self._memory, starts)
        self._walk = Walk(*(np.zeros(n + more, np.int64) for more in (0, 0, 0, 1, 1, 1)))
        self._best = (self._walk.order.copy(), self._walk.order.copy(), self._walk.order.copy())
        self._totals = np.zeros(4, np.int64)
        self._totals[1] = _ANY
        self.load(starts, order)

    @property
    def best_order(self) -> Ints:
        """Positions of the requests in the order of the best list, shape (n,)."""
        return np.array(self._best[0], dtype=np.int64)

    @property
    def requests(self) -> int:
        """How many requests there are."""
        return len(self._best[0])

    @property
    def total(self) -> int:
        """Σ starts of the list."""
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
        self._as_run(annealing.anneal)(
            self._walk,
            self._columns,
            self._memory,
            self._best,
            self._totals,
            self._state,
            moves,
            temperature,
            self._rules,
            self._trial,
        )

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
        starts = np.zeros(self.requests, dtype=np.int64)
        starts[self._best[0]] = self._best[2]
        return starts

    def pass_over(self, order: Ints, budget: Budget) -> None:
        """Go on from the best schedule of admission in an order that passes over some requests.

        At most 1, 2, 4 ... of those that do not fit are passed over in a round.
        """
        requests = Requests(*self._columns, self._columns.outputs)
        for power in range(self.requests.bit_length()):
            starts = starts_in_order(requests, order, self._memory, passes=1 << power)
            if sum(starts) < self.best_total:
                self.load(np.array(starts, dtype=np.int64))
            if budget.spent > QUICK[0] * budget.size:
                break
        self.load(self.best())

    def polish(self) -> None:
        """Go on from the best schedule, each request as early as all others let it.

        Without delays go on from the best list as it is.
        """
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


def _spaces(columns: Columns, memory: int, starts: Ints) -> Trial:
    """Return what decoding fills; tokens by time only where many requests run at once."""
    n, outputs = len(starts), columns.outputs
    # Every active request holds at least its prompt and one token.
    width = 2 * (min(n, memory // (int(columns.prompts.min()) + 1)) + 1)
    end = int((starts + outputs).max())
    # The k-th start finds k − 1 begun, less those that have ended.
    ended = np.searchsorted(np.sort(starts + outputs), starts, side="right")
    running = (n - 1) / 2 - float(ended.mean())
    rounds = end + end // 4 + 2 * int(outputs.max()) + 2
    dense = running >= DENSE_FROM * float(outputs.mean()) and rounds <= ROUNDS_UP_TO
    tokens = np.zeros(rounds if dense else 0, np.int32)
    by_end = np.zeros((2, width), np.int64)
    return Trial(np.zeros(n, np.int64), by_end[0], by_end[1], tokens)


def _shares(n: int) -> tuple[float, float]:
    """Return the shares of the moves that change a delay, and that exchange similar requests."""
    fewer = min(1.0, SIMILAR_UP_TO / n) if n >= SIMILAR_FROM else 0.0
    if n < LARGE:
        return DELAYED, SIMILAR * fewer
    return DELAYED_LARGE, SIMILAR * fewer**2


def _by_time(n: int) -> float:
    """Return the share of the moves whose place is chosen by time.

    Of many requests most are small and start in the first rounds, many at once, where an exchange
    changes little and nearly the whole list has to be decoded.
    """
    return 1.0 - min(1.0, PLACES_UP_TO / n)


def _sizes(columns: Columns) -> Sizes:
    """Return the requests by output and by prompt."""
    keys = ((columns.prompts, columns.outputs), (columns.outputs, columns.prompts))
    requests = np.array([np.lexsort(each) for each in keys], dtype=np.int64)
    return Sizes(requests, np.argsort(requests, axis=1).astype(np.int64))


def fits_in_words(columns: Columns, starts: Ints) -> bool:
    """Return whether no sum of a search can exceed 64 bits.

    A list is dropped at the first place where its total exceeds a threshold, which is above the
    first list's by a few times the temperature; so no start is more than a delay and an output
    above that, and nothing is above n times the two.  Lists that are decoded whole, as the first
    ones are, keep nobody waiting while all have come and nobody runs, so none ends after the last
    arrival and all outputs one after the other; a pace adds a share of all volumes over M, which
    are no more than the outputs.
    """
    n, end = len(starts), int((starts + columns.outputs).max())
    end = max(end, int(columns.arrivals.max()) + sum(columns.outputs.tolist()))
    return bool(n * (4 * end + 4 * int(columns.outputs.max()) + (1 << 32)) < _ANY)


def search_lists(
    search: Search, budget: Budget, latency: float, on_better: Callable[[], None]
) -> None:
    """Anneal until the budget is spent; ``latency`` is the mean one (rounds) of the beginning."""
    shortest = CYCLE_MOVES * search.requests
    size = min(QUICK[0] * budget.size, budget.cost(shortest))
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
        size = budget.cost(shortest) * luby(k + 1)
        # No rest that is too short for a cycle.
        size = budget.left if budget.left < 1.5 * size else size
        ends[chosen].append(_cycle(search, budget, SHARES[chosen] * latency, size, on_better))


def luby(k: int) -> int:
    """Return the k-th length (from 1 on) of restarts: 1, 1, 2, 1, 1, 2, 4, 1 ..."""
    while (k + 1) & k:
        k -= (1 << (k.bit_length() - 1)) - 1
    return (k + 1) >> 1


def _cycle(
    search: Search, budget: Budget, temperature: float, size: float, on_better: Callable[[], None]
) -> int:
    """Anneal from a temperature down, over a size in the budget's measure; return the least Σ.

    With few moves a request the search has no time for worse lists, so it begins colder.
    """
    begun, least = budget.spent, search.total
    temperature *= min(1.0, budget.moves(size) / (COLD_BELOW * search.requests))
    while budget.left > 0 and (share := (budget.spent - begun) / max(size, 1e-9)) < 1:
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
    columns: Columns,
    memory: int,
    starts: Ints,
    budget: Budget,
    *,
    order: Ints | None = None,
    seed: int,
    on_better: Callable[[Ints, Ints], None] = lambda _, __: None,
    delays: bool = True,
    compile_it: bool = True,
) -> tuple[Ints, Ints]:
    """Search from a schedule; call ``on_better`` with better ones, never a worse one.

    It is called with the starts by request and the order of their list, as what is returned.
    ``order`` is a list that has the starts given, by start where it is left out.  Without
    ``delays`` no request waits for the sake of later ones: what is returned is the schedule of an
    order where all arrive together, and may be worse than ``starts``, where no list has these.
    """
    if len(starts) < 2 or budget.size <= 0 or not fits_in_words(columns, starts):
        return starts, np.argsort(starts, kind="stable") if order is None else order
    search = Search(
        columns, memory, starts, order=order, seed=seed, delays=delays, compile_it=compile_it
    )
    known = search.best_total

    def tell() -> None:
        nonlocal known
        if search.best_total < known:
            known = search.best_total
            on_better(search.best(), search.best_order)

    latency = float((starts + columns.outputs - columns.arrivals).mean())
    # Interpreted, the generator of random words warns of the overflow that it lives on.
    with np.errstate(over="ignore"):
        if delays:
            _begin(search, columns, starts, budget)
            tell()
        search_lists(search, budget, latency, tell)
    return search.best(), search.best_order


def _begin(search: Search, columns: Columns, starts: Ints, budget: Budget) -> None:
    """Find the first schedules; the list to go on from is the paced one.

    Annealing ends better from there, unless it has no time to get as far as the best of them.
    """
    volume = by_volume(columns)
    search.pace(np.argsort(starts, kind="stable") if columns.arrivals.any() else volume)
    paced = search.best()
    search.pass_over(volume, budget)
    search.polish()
    search.load(paced)


def columns_of(instance: Instance) -> Columns:
    """Return arrivals, prompts and outputs."""
    return Columns(instance.arrivals, instance.prompts, instance.outputs)


def by_volume(columns: Columns) -> Ints:
    """Return the requests by volume, smallest first."""
    return np.argsort(_volumes(columns), kind="stable")


def _volumes(columns: Columns) -> Any:
    outputs = columns.outputs.astype(np.float64)
    return outputs * (columns.prompts + 0.5 * (outputs + 1))


def compile_kernels() -> None:
    """Compile what the search runs."""
    requests = tuple(Request(i, 0, 1, 1 + i) for i in range(3))
    instance = Instance("three", 6, requests)
    search = Search(columns_of(instance), 6, np.array([0, 2, 5]), seed=0)
    search.pace(np.arange(3))
    search.anneal(1, 1.0)
    search.polish()
