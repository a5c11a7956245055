"""Search for good memory prices: fluid start, column generation, finer and finer grids."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import replace

import numpy as np

from formulations.bounds.columns import (
    Floats,
    Grid,
    Groups,
    Ints,
    Master,
    MasterSolution,
    Pricing,
    group_requests,
)
from formulations.bounds.exact import exact_sum
from formulations.bounds.outcome import Bound, Reporter
from formulations.bounds.prices import PriceBound, certify_prices
from formulations.windows import Windows
from instances import Instance

#: Share of the best prices in those that are priced next (Wentges' smoothing).
SMOOTHING = 0.5
#: Factors on the fluid prices whose cheapest starts are the first columns.
SPREAD = (0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2)
#: Seconds between two exact evaluations of improving prices.
CERTIFY_EVERY = 1.0
#: Columns are dropped when this many times dearer than a cluster's share of the gap allows.
KEEP_FACTOR = 10.0
#: Share of the deviation from a full memory whose spans of the grid are split.
SPLIT_SHARE = 0.95


class Search:
    """Prices that improve over iterations and grids, and the bounds they certify.

    Nothing here has to be right for the bound to be: any λ ≥ 0 certifies one
    (``formulations.bounds.prices``).  What is searched for is the maximum of
    Σ_i min_p [p + o_i − a_i + Σ_j (s_i + j) λ(p + j)] − M Σ λ over prices that are linear between
    the knots of a grid.  By LP duality that is the LP relaxation with its memory rows added up
    by hat functions (``formulations.bounds.columns.Master``); with a knot at every time it is the
    LP relaxation itself.

    *Start.*  In the fluid limit, where a request is a job of volume V_i on a machine that works
    off M token-rounds a round, smallest volume first is optimal and the price falls by 1/M
    whenever a request is through: λ(t) is the number of requests that have arrived and wait, over
    M.  Its value is often within 1 % of the best.

    Parameters
    ----------
    windows
        Proved start windows; None for starts from the arrival on.
    known_starts
        A feasible schedule, in the instance's order; its columns make the master feasible.
    horizon
        T, the last priced time.
    """

    def __init__(
        self,
        instance: Instance,
        report: Reporter,
        *,
        deadline: float,
        threads: int = 1,
        windows: Windows | None = None,
        known_starts: Ints | None = None,
        horizon: int | None = None,
    ) -> None:
        self.instance, self.report, self.deadline = instance, report, deadline
        self._threads, self._windows = threads, windows
        self.groups = group_requests(instance, windows)
        self.horizon = likely_horizon(instance) if horizon is None else horizon
        self.pricing = Pricing(instance, self.groups, self.horizon, threads)
        self.certified: PriceBound | None = None
        self.value = -np.inf
        self._prices: Floats = np.zeros(self.horizon + 1)
        self._certified_value = -np.inf
        self._certified_at = -np.inf
        self._known = known_starts
        self.solution: MasterSolution | None = None
        self._best_costs: Floats = np.zeros(len(self.groups))
        self.try_prices(fluid_prices(instance, self.groups, self.horizon), certify=True)

    def out_of_time(self) -> bool:
        """Tell whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def try_prices(self, prices: Floats, *, certify: bool = False) -> Ints:
        """Evaluate prices, keep them if they are the best so far; return the cheapest starts."""
        value, starts, costs = self.pricing(prices)
        if value > self.value:
            self.value, self._prices, self._best_costs = value, prices, costs
        if certify or time.monotonic() - self._certified_at > CERTIFY_EVERY:
            self.certify()
        return starts

    def certify(self) -> None:
        """Evaluate the best prices exactly and report the bound if it is a better one."""
        if self.value <= self._certified_value:
            return
        latest = None if self._windows is None else self._windows.latest
        bound = certify_prices(self.instance, self._prices.tolist(), latest)
        self._certified_value, self._certified_at = self.value, time.monotonic()
        if self.certified is None or bound.value > self.certified.value:
            self.certified = bound
            self.report.bound(value=bound.value, source="prices")

    def begin(self, number: int) -> None:
        """Set up the master on a grid of about ``number`` knots, with columns around the prices."""
        knots = fitted_knots(self._prices, number)
        grid = Grid(knots)
        self.master = Master(self.instance, self.groups, grid, self.pricing.constant)
        prices = grid.prices(self._prices[knots])
        self.master.add(self._escape(), keep=True)
        if self._known is not None:
            self._add_known(self._known)
        for factor in SPREAD:
            self.master.add(self.try_prices(prices * factor))

    def refine(self, knots: Ints) -> None:
        """Take a finer grid, on which the best prices so far can still be expressed."""
        self.master.refine(Grid(knots))

    def iterate(self, tolerance: float, *, near: int = 0) -> bool:
        """Improve the prices on this grid to a relative gap; tell whether it was reached.

        ``near`` columns of each group, its cheapest starts, are added in every iteration besides
        the cheapest one.
        """
        iteration = 0
        if near:
            for starts in self.pricing.near_cheapest(self._prices, 3 * near):
                self.master.add(starts)
        while not self.out_of_time():
            left = self.deadline - time.monotonic()
            solution = self.master.solve(left, self._threads)
            if solution is None:
                return False
            self.solution = solution
            if self._closed(tolerance):
                return True
            grid = self.master.grid
            pure = grid.prices(solution.prices)
            mixed = SMOOTHING * self._prices + (1 - SMOOTHING) * pure
            new = self.master.add(self.try_prices(mixed))
            if self._closed(tolerance):
                return True
            # Smoothed prices may find nothing new; those of the master then settle the matter.
            new += self.master.add(self.try_prices(pure))
            if near:
                for starts in self.pricing.near_cheapest(mixed, near):
                    new += self.master.add(starts)
            if not new:
                return self._closed(tolerance)
            iteration += 1
            if iteration % 4 == 0:
                allowance = max(solution.objective - self.value, 0.001 * abs(solution.objective))
                weights = self.master.drop(
                    self._prices[grid.knots],
                    self._best_costs,
                    solution.weights,
                    KEEP_FACTOR * allowance / min(len(self.groups), 1500),
                )
                # What comes after a deadline must find the weights where the columns are now.
                self.solution = replace(solution, weights=weights)
        return False

    def _closed(self, tolerance: float) -> bool:
        assert self.solution is not None
        objective = self.solution.objective
        return objective - self.value <= tolerance * max(abs(objective), 1.0)

    def finer_knots(self, most: int) -> Ints | None:
        """Return a grid with the spans split where the master misjudges memory most.

        On a span the master keeps only two weighted sums of the tokens held at most M.  Where its
        solution holds now more, now less than M, finer prices could still raise the bound.  None
        if no span can be split or the grid would have more than ``most`` knots.
        """
        assert self.solution is not None
        knots = self.master.grid.knots
        held = self.master.held(self.solution.weights, self.horizon + 1)
        excess = held - self.instance.memory
        # Where the price is 0 memory may stay unused, but must not be exceeded.
        off = np.cumsum(np.where(self._prices > 0, np.abs(excess), np.maximum(excess, 0.0)))
        error = np.diff(off[knots]) * (np.diff(knots) > 1)
        order = np.argsort(-error, kind="stable")
        total = np.cumsum(error[order])
        if not len(total) or total[-1] <= 0:
            return None
        split = order[: int(np.searchsorted(total, SPLIT_SHARE * total[-1])) + 1]
        middles = (knots[split] + knots[split + 1]) // 2
        finer = np.union1d(knots, middles)
        return finer if len(knots) < len(finer) <= most else None

    def result(self, *, solved: bool = False) -> Bound:
        """Certify what is left and return the outcome."""
        self.certify()
        assert self.certified is not None
        expected = objective = None
        if self.solution is not None:
            expected = self.master.expected_starts(self.solution.weights)[self.groups.group]
            if solved:
                objective = self.solution.objective
            columns, rows, entries = self.master.size
            self.report.built(columns=columns, rows=rows, entries=entries)
        return Bound(self.certified.value, self.certified, expected, objective)

    def _escape(self) -> Ints:
        """Return starts past the priced times where windows allow it: always within memory."""
        return np.minimum(
            np.maximum(self.groups.arrivals, self.horizon),
            np.maximum(self.groups.latest, self.groups.arrivals),
        )

    def _add_known(self, starts: Ints) -> None:
        """Add the columns of a schedule, one proposal for each round of requests of a group."""
        group = self.groups.group
        order = np.argsort(group, kind="stable")
        first = np.concatenate(([0], np.cumsum(self.groups.sizes)))
        # Identical requests start at different rounds: all r-th ones make the r-th proposal.
        for rank in range(min(int(self.groups.sizes.max()), 50)):
            position = first[:-1] + np.minimum(rank, self.groups.sizes - 1)
            self.master.add(starts[order[position]], keep=True)


def likely_horizon(instance: Instance) -> int:
    """Return a time past which memory hardly has a price; a bad guess costs quality only."""
    prompts, outputs = instance.prompts, instance.outputs
    # Twenty requests of 10⁹ tokens hold more token-rounds than 64 bits count.
    volume = exact_sum(prompts * outputs + outputs * (outputs + 1) // 2)
    work = volume * 13 // (10 * instance.memory)
    return int(instance.arrivals.max()) + work + int(outputs.max()) + 10


def fluid_prices(instance: Instance, groups: Groups, horizon: int) -> Floats:
    """Return λ_t for t = 0..horizon: requests that wait in the fluid limit, over M.

    Requests are worked off in order of volume, M token-rounds a round, each from its arrival on;
    one that arrives later than its turn is taken at its arrival.
    """
    order = np.lexsort((groups.volumes, groups.arrivals // _span(groups)))
    rounds = (groups.volumes * groups.sizes.astype(float))[order] / instance.memory
    done = 0.0
    ends = np.empty(len(groups))
    for position, (arrival, length) in enumerate(
        zip(groups.arrivals[order].tolist(), rounds.tolist(), strict=True)
    ):
        done = max(done, arrival) + length
        ends[position] = done
    times = np.arange(horizon + 1)
    arrived = np.zeros(horizon + 1)
    order_of_arrival = np.argsort(groups.arrivals, kind="stable")
    counts = np.concatenate(([0], np.cumsum(groups.sizes[order_of_arrival])))
    arrived = counts[np.searchsorted(groups.arrivals[order_of_arrival], times, side="right")]
    through = np.cumsum(groups.sizes[order])
    left = np.interp(times, np.concatenate(([0], ends)), np.concatenate(([0], through)))
    prices: Floats = np.maximum(arrived - left, 0.0) / instance.memory
    prices[0] = 0.0
    return prices


def _span(groups: Groups) -> int:
    """Return the length (rounds) of the spans of arrivals within which volumes decide."""
    return int(groups.arrivals.max()) // 30 + 1


def fitted_knots(prices: Floats, number: int) -> Ints:
    """Return about ``number`` knots between which linear interpolation follows given prices.

    A quarter of them is even; then the span with the largest area between prices and chord is
    split at its middle, again and again.
    """
    horizon = len(prices) - 1
    knots = np.unique(np.rint(np.linspace(1, horizon, max(number // 4, 2))).astype(np.int64))
    spans = [_span_error(prices, *pair) for pair in itertools.pairwise(knots.tolist())]
    heapq.heapify(spans)
    while spans and len(spans) < number and spans[0][0] < 0:
        _, low, high = heapq.heappop(spans)
        middle = (low + high) // 2
        heapq.heappush(spans, _span_error(prices, low, middle))
        heapq.heappush(spans, _span_error(prices, middle, high))
    return np.unique(np.array([1, *(high for _, _, high in spans)], dtype=np.int64))


def _span_error(prices: Floats, low: int, high: int) -> tuple[float, int, int]:
    """Return minus the area between prices and their chord, and the span."""
    if high - low < 2:
        return 0.0, low, high
    chord = np.linspace(prices[low], prices[high], high - low + 1)
    return -float(np.abs(prices[low : high + 1] - chord).sum()), low, high
