"""Configuration LP: multipliers on states of running requests, certified in integers."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from formulations.bounds import dual, lp
from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.fluid import fitted_knots, fluid_prices, likely_horizon, model_size
from formulations.bounds.generation import ColumnGeneration, Solution
from formulations.bounds.highs import Floats
from formulations.bounds.outcome import Bound, Reporter, SilentReporter
from formulations.lagrangian.prices import PriceBound
from formulations.lagrangian.states import (
    Grids,
    Priced,
    PriceTable,
    evaluate,
    hats,
    last_starts,
    rounded_table,
)
from formulations.valid.states import Ints, States, searchable_states
from formulations.valid.windows import Windows
from instances import Instance

#: Factors on the fluid prices whose cheapest starts and best patterns are the first columns.
SPREAD = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
#: How far from the best prices the model is followed (``PatternMaster.solve``): at first, at most
#: on a finer grid (a quarter of it for each level), and from where on nothing more is expected
#: further away.
FIRST_REACH, FINER_REACH, FAR = 0.1, 0.2, 1.0
#: Prices move by a share of those of the fluid limit, at least of this share of its highest one.
LEAST_SCALE = 0.4
#: The reach grows by the first factor where promises are kept, and falls by the second where not.
LONGER, SHORTER = 3.0, 1.5
#: Spans of tokens held and of rounds left on the first grid.
FIRST_SPANS = (5, 3)
#: Level from which on grids get no finer.
FINEST = 30
#: Promised improvement, as a share, at which a grid is left for a finer one.
TOLERANCES = (1e-2, 6e-3, 3e-3, 1e-3, 5e-4)
#: Cheapest starts of a request that become columns in each iteration.
NEAR = 3
#: Distinct requests beyond which memory alone is priced.
MOST_CLASSES = 2_000
#: Steps of all searches for best patterns together beyond which memory alone is priced.
MOST_WORK = 1_000_000_000
#: Requests a kind, on average, from which prices begin with those of the LP, whose columns are few
#: then, and share of the time that these may take.
EQUAL, FIRST_LP_SHARE = 8, 0.2
#: Rounds beyond which they do not: to set up a row for each takes a second a million.
FIRST_LP_ROUNDS_UP_TO = 200_000


@dataclass(frozen=True)
class Options:
    """What is priced, and how finely."""

    lookahead: Annotated[
        bool, "configurations must fit until all have completed, not only at once"
    ] = True
    knots: Annotated[int, "times between which multipliers are linear"] = 20
    grids: Annotated[
        int, "how many grids of states, each with twice the points of the one before"
    ] = 8


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    windows: Windows | None = None,
    known_starts: Ints | None = None,
    threads: int = 1,
    options: Options | None = None,
) -> Bound:
    """Return the best certified bound by the deadline; parameters as in ``bound-dual``.

    Prices λ_t on tokens charge every token the same.  Here a request that holds w tokens and has
    r rounds left pays π_t(w, r), and where two requests cannot run together the two may pay more
    than memory's worth: this prices what memory loses to growth and to sizes that do not add up to
    M.  A proximal bundle method (``formulations.bounds.proximal``) finds the prices, on a grid of
    ``knots`` times and some (w, r), from starts and patterns that are cheapest and best at the
    prices tried before (``formulations.bounds.pattern_master``).

    Where many requests are equal, prices on tokens come first (:func:`prices_among_equals`); theirs
    is the bound until those on states are better.  Where the search for patterns would take too
    long (large M), or the requests are of too many kinds, the bound is ``bound-dual``.

    Proof: docs/proofs/configurations.md (P2).
    """
    from formulations.bounds.memory_master import request_classes  # loads SciPy

    options = options or Options()
    work = MOST_WORK // max(options.knots, 2)
    states = searchable_states(instance, work, lookahead=options.lookahead)
    if states is None or len(request_classes(instance, windows)) > MOST_CLASSES:
        return dual.compute_bound(
            instance,
            deadline=deadline,
            report=report,
            windows=windows,
            known_starts=known_starts,
            threads=threads,
        )
    left = deadline - time.monotonic()
    first = prices_among_equals(instance, left, windows, known_starts, threads)
    followed = None
    if first is not None:
        report.bound(first.value, "prices")
        followed = first.numerators / first.denominator
    search = _Search(instance, states, windows, deadline, report, threads, options, followed)
    search.run(known_starts, options.grids)
    return _better_of(first, search.result())


def _better_of(tokens: PriceBound | None, states: Bound) -> Bound:
    """Return prices on tokens, if there are any, and those on states where they certify more."""
    if tokens is None or states.value > tokens.value:
        return replace(states, prices=tokens)
    return Bound(tokens.value, tokens, states.expected_starts, None)


def prices_among_equals(
    instance: Instance,
    seconds: float,
    windows: Windows | None,
    known_starts: Ints | None,
    threads: int,
) -> PriceBound | None:
    """Return prices on tokens of the LP, with their bound, where many requests are equal.

    Its columns are few there, and what many equal requests that come at once do to prices is far
    from the fluid limit.  None for other instances, and for horizons whose rows would take long to
    be set up; a share of the ``seconds`` is taken.
    """
    from formulations.bounds.memory_master import request_classes  # loads SciPy

    if likely_horizon(instance) > FIRST_LP_ROUNDS_UP_TO:
        return None
    if len(instance) < EQUAL * len(request_classes(instance)):
        return None
    return lp.compute_bound(
        instance,
        deadline=time.monotonic() + FIRST_LP_SHARE * seconds,
        report=SilentReporter(),
        windows=windows,
        known_starts=known_starts,
        threads=threads,
    ).prices


def price_patterns(
    instance: Instance,
    states: States,
    *,
    deadline: float,
    windows: Windows,
    known_starts: Ints,
    memory: Floats,
    threads: int = 1,
    options: Options | None = None,
) -> Priced:
    """Return the best prices on states found by the deadline.

    ``memory`` are good prices on tokens at times 0, 1, ..., the first that are tried.
    """
    pricing = PatternPricing(
        instance,
        states,
        deadline=deadline,
        windows=windows,
        known_starts=known_starts,
        memory=memory,
        threads=threads,
        options=options,
    )
    return pricing.improve(deadline)


class PatternPricing:
    """A search for prices on states that can be left and taken up again; see ``price_patterns``.

    Knots are where the prices of the fluid limit bend, or with ``knots_of_memory`` where those on
    tokens do that are given.  ``finished`` tells that its grids promise no more.
    """

    def __init__(
        self,
        instance: Instance,
        states: States,
        *,
        deadline: float,
        windows: Windows,
        known_starts: Ints,
        memory: Floats,
        knots_of_memory: bool = False,
        threads: int = 1,
        options: Options | None = None,
    ) -> None:
        options = options or Options()
        self._search = _Search(
            instance, states, windows, deadline, SilentReporter(), threads, options,
            memory if knots_of_memory else None,
        )  # fmt: skip
        if not knots_of_memory:
            self._search.try_tokens(memory)
        self._search.add_starts(known_starts)
        self._grids, self._level, self._entered = max(options.grids, 1), 0, 0
        self.finished = False

    def improve(self, deadline: float) -> Priced:
        """Return the best prices found by a deadline, and go on from them the next time."""
        search = self._search
        search.go_on(deadline)
        while not self.finished and not search.out_of_time():
            finer = True
            if self._level > self._entered:
                self._entered = self._level
                finer = search.refine(self._level)
            if finer:
                search.iterate(TOLERANCES[min(self._level, len(TOLERANCES) - 1)])
            if not search.out_of_time():
                self._level += 1
                self.finished = self._level >= self._grids
        return search.priced


class _Search(ColumnGeneration):
    """Prices that improve over iterations and grids; see :func:`compute_bound`."""

    def __init__(
        self,
        instance: Instance,
        states: States,
        windows: Windows | None,
        deadline: float,
        report: Reporter,
        threads: int,
        options: Options,
        known: Floats | None = None,
    ) -> None:
        # Here, not above: these load SciPy.
        from formulations.bounds.memory_master import request_classes
        from formulations.bounds.pattern_master import PatternMaster

        super().__init__(instance, report, deadline, threads)
        self._states, self._stopped = states, False
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        horizon = max(likely_horizon(instance), 2)
        self._latest = last_starts(instance, horizon, windows)
        fluid = fluid_prices(instance, request_classes(instance), horizon)
        followed = fluid if known is None else known
        if len(followed) <= horizon:
            followed = np.append(followed, np.zeros(horizon + 1 - len(followed)))
        knots = fitted_knots(followed[: horizon + 1], max(options.knots, 2))
        classes = request_classes(instance, windows)
        self._class_of = classes.class_of
        scale = np.maximum(fluid[knots], max(LEAST_SCALE * fluid.max(), 0.1 / instance.memory))
        self._master = PatternMaster(instance, states, _grids(states, knots, 0), classes, scale)
        self._firsts = self._master.firsts.tolist()
        self._reach = FIRST_REACH
        self._prices: Floats = np.zeros(self._master.grids.shape)
        self._table, self._priced = self._evaluate(self._prices)
        self.add_starts(self._latest)
        # Prices that charge every token the same, and around them.
        for factor in SPREAD:
            if self.out_of_time():
                break
            self.try_tokens(factor * fluid)
        if known is not None:
            self.try_tokens(known)

    @property
    def priced(self) -> Priced:
        """The best prices so far, evaluated."""
        return self._priced

    @property
    def value(self) -> float:
        """The Lagrangian value of the best prices so far (rounds)."""
        return self._priced.value

    def try_tokens(self, prices: Floats) -> None:
        """Try the same price for every token, at times 0, 1, ..."""
        grids = self._master.grids
        long = np.zeros(max(len(prices), int(grids.knots[-1]) + 1))
        long[: len(prices)] = prices
        tokens = long[grids.knots][:, None, None] * grids.tokens[:, None]
        self._try(np.broadcast_to(tokens, self._prices.shape))

    def run(self, known_starts: Ints | None, grids: int) -> None:
        """Improve the prices until the deadline, or until ``grids`` grids promise no more."""
        if known_starts is not None:
            self.add_starts(known_starts)
        for level in range(max(grids, 1)):
            if not level or self.refine(level):
                self.iterate(TOLERANCES[min(level, len(TOLERANCES) - 1)])
            if self.out_of_time():
                break

    def add_starts(self, starts: Ints) -> None:
        """Add the starts of a schedule to the columns."""
        starts = np.minimum(starts, self._latest)
        self._master.add_starts(self._class_of.tolist(), starts.tolist())

    def refine(self, level: int) -> bool:
        """Take a grid of states with the points of the last one and as many between them.

        Tells whether there are any: states are integers.
        """
        old = self._master.grids
        grids = _grids(self._states, old.knots, level)
        if grids.shape == old.shape:
            return False
        self._reach = min(self._reach, FINER_REACH / 4.0 ** min(level, 4))
        self._master.refine(grids)
        # The same function on the finer grid, up to rounding.
        self._prices = np.einsum(
            "kac,xa,yc->kxy",
            self._prices,
            hats(old.tokens, grids.tokens),
            hats(old.left, grids.left),
        )
        self._try(self._prices)
        return True

    def go_on(self, deadline: float) -> None:
        """Take another deadline."""
        self.deadline, self._stopped = deadline, False

    def out_of_time(self) -> bool:
        """Tell whether the deadline has passed, or would before the next step ends."""
        return self._stopped or super().out_of_time()

    def _late(self, more: float) -> bool:
        self._stopped = time.monotonic() + more >= self.deadline
        return self._stopped

    def _solve_master(self, seconds: float) -> Solution | None:
        """Follow the model of the Lagrangian some way.

        It overrates prices far from all that were tried, so the reach grows while its promises
        are kept and shrinks when not.
        """
        del seconds  # the deadline is looked at before every step
        return self._master.solve(self._prices, self.value, self._reach, self._late)

    def _scale(self) -> float:
        return abs(self.value)

    def _farthest(self) -> bool:
        if self._reach >= FAR:
            return True
        self._reach *= LONGER
        return False

    def _improve(self, solution: Solution, tolerance: float, iteration: int) -> bool:
        del tolerance, iteration
        before = self.value
        new = self._try(solution.prices)
        kept = (self.value - before) / (solution.objective - before)
        if kept > 0.5:
            self._reach *= LONGER
        elif kept < 0.1:
            if not new:
                return False
            self._reach /= SHORTER
        self.solution = self._master.drop(solution, solution.objective - before)
        return True

    def result(self) -> Bound:
        """Return the outcome."""
        expected = None
        if self.solution is not None:
            expected = self._master.expected_starts(self.solution.split()[0])
            columns, rows, entries = self._master.size
            self.report.built(columns=columns, rows=rows, entries=entries)
        return Bound(self._priced.bound, None, expected, None, self._table)

    def _evaluate(self, prices: Floats) -> tuple[PriceTable, Priced]:
        table = rounded_table(self.instance, self._states, self._master.grids, prices)
        return table, evaluate(self.instance, self._states, table, self._latest, self._pool)

    def _try(self, prices: Floats) -> int:
        """Evaluate prices, keep them if they are the best, add columns; return how many are new.

        Prices too large for 64 bits are not tried.
        """
        try:
            table, priced = self._evaluate(prices)
        except OverflowError:
            return 0
        if priced.value > self._priced.value:
            if priced.bound > self._priced.bound:
                self.report.bound(value=priced.bound, source="prices of patterns")
            self._prices, self._table, self._priced = prices, table, priced
        owners, starts = [], []
        for owner, i in enumerate(self._firsts):
            cost = priced.costs[i]
            count = min(NEAR, len(cost))
            near = np.argpartition(cost, count - 1)[:count] + self.instance.requests[i].arrival
            owners += [owner] * count
            starts += near.tolist()
        knots = np.repeat(np.arange(len(priced.patterns)), [len(p) for p in priced.patterns])
        patterns = [pattern for each in priced.patterns for pattern in each]
        new = self._master.add_starts(owners, starts)
        return new + self._master.add_patterns(knots.tolist(), patterns)


def _grids(states: States, knots: Ints, level: int) -> Grids:
    """Return evenly spaced points of tokens held, and of rounds left more of the small ones.

    From level to level the spans of rounds left and of tokens held are halved in turn.
    """
    level = min(level, FINEST)
    tokens, left = FIRST_SPANS[0] << level // 2, FIRST_SPANS[1] << (level + 1) // 2
    most_tokens, most_left = int(states.tokens.max()), max(int(states.left.max()), 1)
    return Grids(
        knots,
        np.unique(np.rint(np.linspace(0, most_tokens, tokens + 1)).astype(np.int64)),
        np.unique(np.rint(most_left * np.linspace(0, 1, left + 1) ** 1.5).astype(np.int64)),
    )


FORMULATION = ComputedBound(
    name="bound-patterns", compute=compute_bound, size=model_size, options=Options
)
