"""Configuration LP: multipliers on states of running requests, certified in integers.

    grid = coarse; prices = the best multiple of the fluid limit's, or of prices on tokens
    repeat until steps are short on the finest grid:
        find the cheapest start of each request class, the best pattern at each knot (kernels)
        step along their use of each price; without gain for a while: shorter steps, from the
        best prices, then a finer grid
        now and then evaluate the best prices in integers (``formulations.lagrangian.state_prices``)

A pattern is a set of requests that can run on together.  Proof: docs/proofs/configurations.md (P2).
"""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from formulations.bounds import dual, lp
from formulations.bounds.bound_result import BoundResult, Reporter, SilentReporter
from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.fluid_limit import fitted_knots, fluid_prices, likely_horizon, model_size
from formulations.bounds.highs_lp import Floats
from formulations.bounds.pricing import RequestClasses, request_classes
from formulations.lagrangian.price_bound import PriceBound
from formulations.lagrangian.state_prices import (
    EvaluatedStatePrices,
    Grids,
    evaluate_table,
    rounded_table,
    spans,
)
from formulations.valid.running_states import Ints, States, searchable_states
from formulations.valid.windows import Windows
from instances import Instance

#: Factors on the prices of the fluid limit; the best is the first point.
SPREAD = (1.0, 0.9, 1.1, 0.8, 1.2, 0.7, 0.6)
#: Grids, one after the other: divisors of the knots and points in the options; lengths of the first
#: and of the last steps, as a share of prices in the fluid limit.
LEVELS = ((2, 4, 0.03, 0.022), (2, 2, 0.02, 0.01), (1, 1, 0.01, 0.0002))
#: Shares of the past in the means of slopes, of their squares, and of starts.
MOMENTUM, SECOND_MOMENT, PAST_STARTS = 0.95, 0.99, 0.98
#: Seconds between two reported bounds, and share of the time for evaluating them.
REPORT_EVERY, REPORT_SHARE = 1.0, 0.1
#: Distinct requests, and steps of all searches for best patterns, beyond which memory alone has
#: prices.
MOST_CLASSES, MOST_WORK = 2_000, 1_000_000_000
#: Mean requests a kind from which the LP's prices come first: its columns are few then; their share
#: of the time; and the most rounds, since a row for each takes a second a million.
EQUAL, FIRST_LP_SHARE, FIRST_LP_ROUNDS_UP_TO = 8, 0.2, 200_000


@dataclass(frozen=True)
class PatternOptions:
    """Options of the configuration LP: its multipliers and its grids."""

    lookahead: Annotated[
        bool, "configurations must fit until all have completed, not only at once"
    ] = True
    knots: Annotated[int, "times between which multipliers are linear"] = 40
    points: Annotated[
        int, "points of tokens held, and of rounds left, between which multipliers are linear"
    ] = 20
    patience: Annotated[int, "steps without gain after which the next ones are shorter"] = 30
    shorter: Annotated[float, "by what they are shorter"] = 0.7
    least_scale: Annotated[
        float, "share of the highest multiplier of the fluid limit that a step moves at least by"
    ] = 0.4


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    options: PatternOptions | None = None,
    threads: int = 1,
    **given: Any,
) -> BoundResult:
    """Return the best certified bound by the deadline; ``given`` as in ``PriceSearch``.

    Where many requests are equal, prices on tokens come first (:func:`prices_among_equals`).
    Where the search for patterns takes too long (large M), or the requests are of too many kinds,
    the bound is ``bound-dual``.
    """
    options, given = options or PatternOptions(), given | {"threads": threads}
    work = MOST_WORK // max(options.knots, 2)
    states = searchable_states(instance, work, lookahead=options.lookahead)
    if states is None or len(request_classes(instance, given.get("windows"))) > MOST_CLASSES:
        return dual.compute_bound(instance, deadline=deadline, report=report, **given)
    tokens = prices_among_equals(instance, deadline - time.monotonic(), **given)
    followed = None
    if tokens is not None:
        report.bound(tokens.value, "prices")
        followed = tokens.numerators / tokens.denominator
    # Start windows limit nothing: the certificate of a sweep takes none.
    pricing = PatternPricing(
        *(instance, states), deadline=deadline, followed=followed, threads=threads, options=options
    )
    priced = _improved(pricing, deadline, report)
    found = BoundResult(priced.bound, tokens, pricing.expected_starts, None, priced.table)
    if tokens is None or found.value > tokens.value:
        return found
    return replace(found, value=tokens.value, table=None)


def _improved(pricing: PatternPricing, deadline: float, report: Reporter) -> EvaluatedStatePrices:
    """Return the best prices by the deadline; report their bounds on the way."""
    pause, best = REPORT_EVERY, -np.inf
    while True:
        priced = pricing.improve(min(time.monotonic() + pause, deadline))
        if priced.bound > best:
            best = priced.bound
            report.bound(priced.bound, "prices of patterns")
        if pricing.finished or time.monotonic() + pricing.evaluating >= deadline:
            return priced
        pause = max(REPORT_EVERY, pricing.evaluating / REPORT_SHARE)


def prices_among_equals(
    instance: Instance,
    seconds: float,
    windows: Windows | None = None,
    known_starts: Ints | None = None,
    threads: int = 1,
) -> PriceBound | None:
    """Return prices on tokens of the LP, with their bound, where many requests are equal.

    The LP has few columns then, and its prices are far from the fluid limit's.  None for other
    instances, and for long horizons.  It takes a share of the ``seconds``.
    """
    if likely_horizon(instance) > FIRST_LP_ROUNDS_UP_TO:
        return None
    if len(instance) < EQUAL * len(request_classes(instance)):
        return None
    given = {"windows": windows, "known_starts": known_starts, "threads": threads}
    deadline = time.monotonic() + FIRST_LP_SHARE * seconds
    return lp.compute_bound(instance, deadline=deadline, report=SilentReporter(), **given).prices


class PatternPricing:
    """A search for prices on states that can stop and go on.

    Subgradient steps on the Lagrangian, which is concave in the prices at the points of a grid.
    Starts and patterns use points; that use is a subgradient.  Steps follow its mean over past
    steps, over the root of the mean square, as Adam does (Kingma and Ba 2015).  Any prices ≥ 0
    certify a bound.

    Knots follow ``followed``, good prices on tokens at times 0, 1, ..., or the fluid limit's.
    After the ``deadline`` no further first point is tried.  ``evaluating`` has the seconds of the
    last exact evaluation, ``expected_starts`` the mean cheapest starts over past steps, shape (n,),
    rounds; None before the first step.
    """

    def __init__(
        self,
        instance: Instance,
        states: States,
        *,
        deadline: float,
        followed: Floats | None = None,
        threads: int = 1,
        options: PatternOptions | None = None,
    ) -> None:
        self._options = options or PatternOptions()
        self._instance, self._states = instance, states
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._threads = threads
        horizon = max(likely_horizon(instance), 2)
        classes = request_classes(instance)
        self._columns, self._class_of = _columns_of(instance, classes, horizon), classes.class_of
        self._constant = int((instance.outputs - instance.arrivals).sum())
        self._fluid = fluid_prices(instance, classes, horizon)
        self._followed = _lengthened(self._fluid if followed is None else followed, horizon)
        self._starts = np.zeros(len(classes), dtype=np.int64)
        self.expected_starts: Floats | None = None
        self._level = 0
        self._take_grid()
        self._begin(np.zeros_like(self._unit))
        self._priced, self._evaluated = self._evaluate(self._best), self._best
        firsts = [] if followed is None else [followed]
        firsts += [factor * self._fluid for factor in SPREAD]
        for place, prices in enumerate(firsts):
            if place and time.monotonic() >= deadline:
                break
            self._try(self._of_tokens(prices))
        self._begin(self._best)

    @property
    def finished(self) -> bool:
        """Return whether steps are too short to matter on the finest grid."""
        return self._level == len(LEVELS)

    def improve(self, deadline: float) -> EvaluatedStatePrices:
        """Return the best prices found by a deadline."""
        took = 0.0
        while not self.finished and time.monotonic() + took + self.evaluating < deadline:
            began = time.monotonic()
            self._step()
            took = time.monotonic() - began
        if self._best is not self._evaluated and self._value > self._priced.value:
            self._evaluated = self._best
            # Prices too large for 64 bits, or not finite, do not count.
            with contextlib.suppress(OverflowError, ValueError):
                found = self._evaluate(self._best)
                self._priced = max(self._priced, found, key=lambda each: each.value)
        return self._priced

    def _take_grid(self) -> None:
        """Take the points of a level, and each state's shares of the points around it."""
        import scipy.sparse as sp

        coarser, fewer, *_ = LEVELS[self._level]
        number = max(self._options.knots // coarser, 2)
        knots = fitted_knots(self._followed[: len(self._fluid)], number)
        grids = _grids(self._states, knots, max(self._options.points // fewer, 1))
        self._grids, states = grids, self._states
        of_tokens = _sparse_hats(grids.tokens, states.tokens)
        of_left, size = _sparse_hats(grids.left, states.left), len(grids.left)
        points = [a * size + c for a, _ in of_tokens for c, _ in of_left]
        shares = [x * y for _, x in of_tokens for _, y in of_left]
        places = np.tile(np.arange(len(states)), 4), np.concatenate(points)
        whole = len(states), len(grids.tokens) * size
        self._shares = sp.csr_matrix((np.concatenate(shares), places), whole)
        self._shares.eliminate_zeros()
        self._times = np.arange(grids.knots[-1] + 1.0)
        self._weights = _summed_hats(grids.knots)
        least = max(self._options.least_scale * self._fluid.max(), 0.1 / states.memory)
        scale = np.maximum(self._fluid[grids.knots], least)
        heavy = np.repeat(grids.tokens, len(grids.left)) + states.memory // 10 + 1
        self._unit: Floats = scale[:, None] * heavy

    def _begin(self, point: Floats) -> None:
        """Start at a point with steps of the level's first length."""
        self._value = -np.inf
        self._try(point)
        self._point, self._length, self._waited = point, LEVELS[self._level][2], 0
        self._mean, self._square, self._steps = np.zeros_like(point), np.zeros_like(point), 0

    def _refine(self) -> None:
        """Take the next grid, and the best prices on it."""
        self._level += 1
        if self.finished:
            return
        old = self._grids
        self._take_grid()
        new, prices = self._grids, self._best.reshape(old.shape)
        for axis, (before, now) in enumerate(
            ((old.knots, new.knots), (old.tokens, new.tokens), (old.left, new.left))
        ):
            prices = np.moveaxis(np.tensordot(_hats(before, now), prices, (1, axis)), 0, axis)
        self._begin(np.ascontiguousarray(prices.reshape(len(new.knots), -1)))

    def _of_tokens(self, prices: Floats) -> Floats:
        """Return a point at which every token pays the same, at times 0, 1, ..."""
        per_token = np.repeat(self._grids.tokens, len(self._grids.left))
        # A point that no state is near has no price.
        near = np.diff(self._shares.tocsc().indptr) > 0
        of_knots = _lengthened(prices, int(self._grids.knots[-1]))[self._grids.knots]
        point: Floats = of_knots[:, None] * (per_token * near)
        return point

    def _evaluate(self, point: Floats) -> EvaluatedStatePrices:
        """Return the exact value at a point."""
        began = time.monotonic()
        prices = point.reshape(self._grids.shape)
        table = rounded_table(self._instance, self._states, self._grids, prices)
        priced = evaluate_table(self._instance, self._states, table, self._pool)
        self.evaluating = time.monotonic() - began
        return priced

    def _try(self, point: Floats) -> Floats:
        """Keep a point if its value is the best; return the slope there, a round each."""
        value, use = self._lagrangian(np.ascontiguousarray((self._shares @ point.T).T))
        if value > self._value:
            self._value, self._best, self._waited = value, point, 0
        slope: Floats = (self._shares.T @ use.T).T / np.maximum(self._weights, 1.0)[:, None]
        return slope

    def _step(self) -> None:
        self._waited += 1
        slope = self._try(self._point)
        if self._waited > self._options.patience:
            self._length *= self._options.shorter
            self._waited, self._point = 0, self._best
            if self._length < LEVELS[self._level][3]:
                self._refine()
                return
        self._steps += 1
        self._mean = MOMENTUM * self._mean + (1 - MOMENTUM) * slope
        self._square = SECOND_MOMENT * self._square + (1 - SECOND_MOMENT) * slope**2
        ahead = self._mean / (1 - MOMENTUM**self._steps)
        size = np.sqrt(self._square / (1 - SECOND_MOMENT**self._steps)) + 1e-3
        self._point = np.maximum(self._point + self._length * self._unit * ahead / size, 0.0)
        now = self._starts[self._class_of].astype(float)
        before = now if self.expected_starts is None else self.expected_starts
        self.expected_starts = PAST_STARTS * before + (1 - PAST_STARTS) * now

    def _lagrangian(self, values: Floats) -> tuple[float, Floats]:
        """Return the value at prices of the states at the knots, and its slope."""
        from formulations.bounds.pattern_kernels import (  # loads the compiler
            best_patterns_use,
            cheapest_starts_use,
        )

        states, knots = self._states, self._grids.knots

        def part(number: int) -> tuple[float, Floats]:
            use = np.zeros_like(values)
            requests, times = (
                [len(each) * end // self._threads for end in (number, number + 1)]
                for each in (self._columns, knots)
            )
            starts = (self._columns, states.of, values, knots, self._times)
            cost = cheapest_starts_use(*starts, *requests, self._starts, use)
            patterns = (states.tokens, states.left, values, states.memory, states.most)
            return cost - best_patterns_use(*patterns, self._weights, *times, use), use

        run = map if self._pool is None else self._pool.map
        worths, uses = zip(*run(part, range(self._threads)), strict=True)
        return sum(worths) + self._constant, np.sum(uses, axis=0)


def _sparse_hats(grid: Ints, values: Ints) -> list[tuple[Ints, Floats]]:
    """Return the two points around each value, and their weights in linear interpolation."""
    below, above, width = spans(grid, values)
    share = (values - grid[below]) / width
    return [(below, 1 - share), (above, share)]


def _hats(grid: Ints, values: Ints) -> Floats:
    """Return the weight of each grid point in linear interpolation, shape (values, points)."""
    weights = np.zeros((len(values), len(grid)))
    for points, shares in _sparse_hats(grid, values):
        weights[np.arange(len(values)), points] += shares
    return weights


def _summed_hats(knots: Ints) -> Floats:
    """Return the sum of each knot's weights at the times from the first to the last one."""
    # On either side of a knot the distances 1 to w − 1 add up to (w − 1) / 2.
    side = np.append((np.diff(knots) - 1.0) / 2, 0.0)
    found: Floats = 1.0 + side + np.roll(side, 1)
    return found


def _lengthened(prices: Floats, last: int) -> Floats:
    """Return prices at times 0, 1, ..., the last one at least; past their end they are 0."""
    return np.append(prices, np.zeros(max(last + 1 - len(prices), 0)))


def _columns_of(instance: Instance, classes: RequestClasses, horizon: int) -> Ints:
    """Return the classes' columns for the kernel; prices end at the horizon."""
    firsts = np.unique(classes.class_of, return_index=True)[1]
    places = np.cumsum(instance.outputs) - instance.outputs
    latest = np.maximum(classes.arrivals, horizon)
    columns = (classes.arrivals, latest, classes.outputs, places[firsts], classes.sizes)
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _grids(states: States, knots: Ints, points: int) -> Grids:
    """Return evenly spaced points of tokens, and points of rounds left, denser near 0."""
    most_tokens, most_left = int(states.tokens.max()), max(int(states.left.max()), 1)
    shares = np.linspace(0, 1, min(points, max(most_tokens, most_left)) + 1)
    return Grids(
        knots,
        np.unique(np.rint(most_tokens * shares).astype(np.int64)),
        np.unique(np.rint(most_left * shares**1.5).astype(np.int64)),
    )


FORMULATION = ComputedBound(
    name="bound-patterns", compute=compute_bound, size=model_size, options=PatternOptions
)
