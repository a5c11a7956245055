"""Prices on memory that improve: from the fluid limit, by column generation, on finer grids."""

import itertools
import time
from dataclasses import replace

import numpy as np

from formulations.bounds.bound_result import BoundResult, Reporter
from formulations.bounds.fluid_limit import fitted_knots, fluid_prices, likely_horizon
from formulations.bounds.highs_lp import Floats
from formulations.bounds.lookahead_separation import MEMORY_UP_TO, RowSeparation
from formulations.bounds.memory_master import MasterLP, MasterSolution
from formulations.bounds.pricing import (
    MOST_CLUSTERS,
    ClassPricing,
    DualOptions,
    Ints,
    MasterRows,
    PriceGrid,
    request_classes,
)
from formulations.lagrangian.price_bound import PriceBound, certify_prices
from formulations.valid.windows import Windows
from instances import Instance

#: Factors on the fluid prices whose cheapest starts are the first columns.
SPREAD = (0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2)
#: Seconds between two exact evaluations of improving prices, and share of the time that they take.
CERTIFY_EVERY, CERTIFY_SHARE = 1.0, 0.1


class PriceSearch:
    """Prices that improve over iterations and grids, and the bounds they certify.

    Any λ ≥ 0 certifies a bound (``formulations.lagrangian.price_bound``).  The search maximises
    Σ_i min_p [p + o_i − a_i + Σ_j (s_i + j) λ(p + j)] − M Σ λ over prices that are linear between
    the knots of a grid.  By LP duality that is the LP relaxation with its memory rows added up
    by hat functions (``formulations.bounds.memory_master.MasterLP``).

    *Start.*  In the fluid limit a request is a job of volume V_i on a machine of M token-rounds a
    round, and smallest volume first is optimal.  There λ(t) is the number of waiting requests over
    M; its value is often within 1 % of the best.

    The ``deadline`` is on ``time.monotonic``; starts keep to proved ``windows``, if any.
    ``known_starts`` is a feasible schedule, whose columns make the master feasible.  The
    ``horizon`` is T, the last priced time.
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
        options: DualOptions | None = None,
    ) -> None:
        self.instance, self.report = instance, report
        self.deadline, self.threads = deadline, threads
        self._windows, self._known = windows, known_starts
        self._options = options or DualOptions()
        self.classes = request_classes(instance, windows)
        self.horizon = likely_horizon(instance) if horizon is None else horizon
        self.pricing = ClassPricing(instance, self.classes, self.horizon, threads)
        #: The last master's, with weights for its present columns.
        self.solution: MasterSolution | None = None
        self.certified: PriceBound | None = None
        #: The Lagrangian value of the best prices so far (rounds).
        self.value = -np.inf
        self._prices: Floats = np.zeros(self.horizon + 1)
        self._payments: Floats = np.zeros(0)
        self._best_costs: Floats = np.zeros(len(self.classes))
        self._separation: RowSeparation | None = None
        self._rows: MasterRows | None = None
        self._certified_value = self._certified_at = -np.inf
        self._certified_in = 0.0
        self.try_prices(fluid_prices(instance, self.classes, self.horizon))

    def try_prices(self, prices: Floats, payments: Floats | None = None) -> Ints:
        """Evaluate prices, keep the best; return the cheapest starts."""
        value, starts, costs = self.pricing(prices, self._rows, payments)
        if value > self.value:
            self.value, self._prices, self._best_costs = value, prices, costs
            rows = len(self._rows) if self._rows else 0
            self._payments = np.zeros(rows) if payments is None else payments
        pause = max(CERTIFY_EVERY, self._certified_in / CERTIFY_SHARE)
        if time.monotonic() - self._certified_at > pause:
            self.certify()
        return starts

    def certify(self) -> None:
        """Evaluate the best prices exactly and report the bound if it is a better one."""
        if self.value <= self._certified_value:
            return
        began = time.monotonic()
        latest = None if self._windows is None else self._windows.latest
        priced = self._rows.priced(self._payments) if self._rows else []
        bound = certify_prices(self.instance, self._prices, latest, priced, self.threads)
        self._certified_value, self._certified_at = self.value, time.monotonic()
        self._certified_in = self._certified_at - began
        if self.certified is None or bound.value > self.certified.value:
            self.certified = bound
            self.report.bound(value=bound.value, source="prices")

    def begin(self, number: int) -> None:
        """Set up the master on a grid of about ``number`` knots, with columns around the prices."""
        knots = fitted_knots(self._prices, number)
        grid = PriceGrid(knots)
        self.master = MasterLP(self.instance, self.classes, grid, self.pricing.constant)
        prices = grid.prices(self._prices[knots])
        # Starts past the priced times where windows allow it are always within memory.
        arrivals, latest = self.classes.arrivals, self.classes.latest
        escape = np.minimum(np.maximum(arrivals, self.horizon), np.maximum(latest, arrivals))
        self.master.add(escape, keep=True)
        if self._known is not None:
            self._add_known(self._known)
        for factor in SPREAD:
            self.master.add(self.try_prices(prices * factor))

    def refine(self, knots: Ints) -> None:
        """Take a finer grid, on which the best prices so far can still be expressed."""
        self.master.refine(PriceGrid(knots), self._rows)

    def look_ahead(self) -> int:
        """Add look-ahead rows that the master's solution violates; return how many."""
        if self.solution is None or self.instance.memory > MEMORY_UP_TO:
            return 0
        if self._separation is None:
            grid = self.master.grid
            self._separation = RowSeparation(self.instance, self.classes, grid, self.threads)
        added = self._separation.add_violated(self.master.started(self.solution.weights))
        if added:
            self._rows = self._separation.all()
            self._payments = np.concatenate([self._payments, np.zeros(added)])
            self.master.refine(self.master.grid, self._rows)
        return added

    def iterate(self, tolerance: float, near: int = 0) -> bool:
        """Improve the prices on this grid until the LP promises at most this share more.

        Returns whether it does.  Every iteration adds the ``near`` cheapest starts of each class.
        """
        if near:
            self._add_near(self._prices, 3 * near)
        for iteration in itertools.count(1):
            if self.out_of_time():
                return False
            solution = self.master.solve(self.deadline - time.monotonic(), self.threads)
            if solution is None:
                return False
            self.solution = solution
            if self._closed(tolerance):
                return True
            if not self._improve(solution, tolerance, iteration, near):
                return self._closed(tolerance)
        return False

    def out_of_time(self) -> bool:
        """Return whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def _closed(self, tolerance: float) -> bool:
        assert self.solution is not None
        scale = max(abs(self.solution.objective), 1.0)
        return self.solution.objective - self.value <= tolerance * scale

    def _improve(
        self, solution: MasterSolution, tolerance: float, iteration: int, near: int = 0
    ) -> bool:
        """Add columns; return whether any is new and the gap is not closed."""
        pure = self.master.grid.prices(solution.prices)
        share = self._options.smoothing
        mixed = share * self._prices + (1 - share) * pure
        paid = share * self._payments + (1 - share) * solution.payments
        new = self.master.add(self.try_prices(mixed, paid))
        if self._closed(tolerance):
            return False
        # Smoothed prices may find nothing new; the master's prices decide then.
        new += self.master.add(self.try_prices(pure, solution.payments))
        if near:
            new += self._add_near(mixed, near)
        if new and iteration % 4 == 0:
            self._drop(solution)
        return new > 0

    def _add_near(self, prices: Floats, count: int) -> int:
        return sum(self.master.add(each) for each in self.pricing.near_cheapest(prices, count))

    def _drop(self, solution: MasterSolution) -> None:
        allowance = max(solution.objective - self.value, 0.001 * abs(solution.objective))
        weights = self.master.drop(
            self._prices[self.master.grid.knots],
            self._payments,
            self._best_costs,
            solution.weights,
            self._options.keep_factor * allowance / min(len(self.classes), MOST_CLUSTERS),
        )
        # After a deadline the weights must fit the columns.
        self.solution = replace(solution, weights=weights)

    def finer_knots(self, most: int) -> Ints | None:
        """Return a grid with the spans split where the master misjudges memory most.

        The master limits two weighted sums of the tokens on a span.  Where its solution holds now
        more, now less than M, finer prices can raise the bound.  None if no span can be split or
        the grid would have more than ``most`` knots.
        """
        assert self.solution is not None
        knots = self.master.grid.knots
        held = self.master.held(self.solution.weights, self.horizon + 1)
        excess = held - self.instance.memory
        # At a price of 0 memory may stay unused.
        off = np.cumsum(np.where(self._prices > 0, np.abs(excess), np.maximum(excess, 0.0)))
        error = np.diff(off[knots]) * (np.diff(knots) > 1)
        order = np.argsort(-error, kind="stable")
        total = np.cumsum(error[order])
        if not len(total) or total[-1] <= 0:
            return None
        split = order[: int(np.searchsorted(total, self._options.split_share * total[-1])) + 1]
        finer = np.union1d(knots, (knots[split] + knots[split + 1]) // 2)
        return finer if len(knots) < len(finer) <= most else None

    def result(self, *, solved: bool = False) -> BoundResult:
        """Certify the last prices and return the outcome."""
        self.certify()
        assert self.certified is not None
        expected = objective = None
        if self.solution is not None:
            expected = self.master.expected_starts(self.solution.weights)[self.classes.class_of]
            objective = self.solution.objective if solved else None
            columns, rows, entries = self.master.size
            self.report.built(columns=columns, rows=rows, entries=entries)
        return BoundResult(self.certified.value, self.certified, expected, objective)

    def _add_known(self, starts: Ints) -> None:
        """Add the columns of a schedule: all r-th requests of their class make a proposal."""
        order = np.argsort(self.classes.class_of, kind="stable")
        first = np.concatenate(([0], np.cumsum(self.classes.sizes)))
        for rank in range(min(int(self.classes.sizes.max()), 50)):
            position = first[:-1] + np.minimum(rank, self.classes.sizes - 1)
            self.master.add(starts[order[position]], keep=True)
