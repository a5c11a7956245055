"""Column generation for memory prices: classes of equal requests, a price grid, the LP master.

Only an engine's process may use the master: it loads HiGHS.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from formulations.bounds.highs import LP, Floats, run_highs, status
from formulations.lagrangian.costs import price_sums
from formulations.lagrangian.exact import exact_sum
from formulations.valid.windows import Windows
from instances import Instance

if TYPE_CHECKING:
    from formulations.bounds.lookahead_rows import Rows

Ints = NDArray[np.int64]

#: Up to this many distinct requests each has convexity rows of its own; beyond, requests of
#: similar volume share one, so that the master stays small.
MOST_CLUSTERS = 1500
#: Price evaluations, requests times rounds, from which on threads share them.
SHARE_FROM = 20_000_000
#: Starts that are priced with look-ahead rows lie a share of their round apart, or one round.
STARTS_APART = 250
#: Later than every round.
NEVER = 1 << 61


@dataclass(frozen=True)
class Solution:
    """Optimum of a master LP: objective (rounds), prices on its grid, weight of each column.

    Columns are starts.  ``payments`` are the prices of look-ahead rows on M-ths of tokens.
    """

    objective: float
    prices: Floats
    weights: Floats
    payments: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Classes:
    """Requests that are the same in all that matters, counted; shape (classes,) each.

    ``sizes`` counts the requests of a class; ``class_of``, shape (n,), is the class of a request.
    """

    arrivals: Ints
    latest: Ints
    prompts: Ints
    outputs: Ints
    sizes: Ints
    class_of: Ints

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def span(self) -> int:
        """Rounds of arrivals within which volumes decide on the order, and on clusters."""
        return int(self.arrivals.max()) // 30 + 1

    @property
    def volumes(self) -> Ints:
        """Token-rounds that one request of each class holds over its run."""
        return self.prompts * self.outputs + self.outputs * (self.outputs + 1) // 2


def request_classes(instance: Instance, windows: Windows | None = None) -> Classes:
    """Return the distinct (arrival, latest start, prompt, output) of an instance, sorted."""
    latest = np.full(len(instance), NEVER) if windows is None else np.array(windows.latest)
    rows = np.stack([instance.arrivals, latest, instance.prompts, instance.outputs], axis=1)
    distinct, class_of, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    arrivals, latest, prompts, outputs = np.ascontiguousarray(distinct.T)
    return Classes(arrivals, latest, prompts, outputs, sizes.astype(np.int64), class_of.ravel())


class Pricing:
    """The cheapest start of every class under given prices, in floating point.

    Parameters
    ----------
    horizon
        T, the last priced time.
    threads
        Threads that share the work where there is much of it.
    """

    def __init__(self, instance: Instance, classes: Classes, horizon: int, threads: int) -> None:
        self._memory, self._classes = instance.memory, classes
        # Σ (o_i − a_i), the part of the TEL that no schedule can change (rounds).
        self.constant = exact_sum(instance.outputs) - exact_sum(instance.arrivals)
        busy = threads if len(classes) * horizon >= SHARE_FROM else 1
        self._edges = np.linspace(0, len(classes), 8 * busy + 1).astype(int).tolist()
        self._pool = ThreadPoolExecutor(busy) if busy > 1 else None
        self._grid = _growing(horizon)

    def __call__(
        self, prices: Floats, rows: Rows | None = None, payments: Floats | None = None
    ) -> tuple[float, Ints, Floats]:
        """Return the Lagrangian value (rounds), the cheapest starts and their costs by class.

        With payments, prices of look-ahead rows on M-ths of tokens, of some starts only.
        """
        from formulations.lagrangian.kernels import cheapest_starts  # loads the compiler
        from formulations.lagrangian.lookahead_kernels import cheapest_paid_starts

        classes = self._classes
        costs = np.zeros(len(classes))
        starts = np.zeros(len(classes), dtype=np.int64)
        sums = price_sums(prices, 1.0)

        of_rows = None
        worth = 0.0
        if rows is not None and payments is not None and payments.any():
            of_rows = rows.sums_at(payments)
            worth = float(payments @ rows.weights) * self._memory**2
        columns = (classes.arrivals, classes.latest, classes.prompts, classes.outputs)
        prefix = (sums.tokens, sums.moments, sums.unit)

        def price(first: int, stop: int) -> None:
            if of_rows is None:
                cheapest_starts(*columns, *prefix, first, stop, costs, starts)
                return
            cheapest_paid_starts(
                (classes.arrivals, classes.prompts, classes.outputs),
                classes.latest,
                (sums.tokens, sums.moments),
                sums.unit,
                *(of_rows.rows, of_rows.prefix, of_rows.core, self._memory, self._grid),
                *(first, stop, costs, starts),
            )

        if self._pool is None:
            price(0, len(classes))
        else:
            list(self._pool.map(price, self._edges[:-1], self._edges[1:]))
        value = float(costs @ classes.sizes) + self.constant - self._memory * float(prices.sum())
        return value - worth, starts, costs

    def near_cheapest(self, prices: Floats, count: int) -> list[Ints]:
        """Return ``count`` proposals: of each class the cheapest starts, from the best on."""
        classes, last = self._classes, len(prices) - 1
        sums = price_sums(prices, 1.0)
        proposals = np.empty((count, len(classes)), dtype=np.int64)
        for each in range(len(classes)):
            first = int(classes.arrivals[each])
            begin = np.arange(first, min(int(classes.latest[each]), max(first, last)) + 1)
            costs = sums.of_runs(classes.prompts[each], classes.outputs[each], begin)
            order = np.argsort(costs, kind="stable")[:count]
            proposals[:, each] = begin[order[np.minimum(np.arange(count), len(order) - 1)]]
        return list(proposals)


def _growing(horizon: int) -> Ints:
    """Return rounds from 0 on, further and further apart, up to the horizon and past it."""
    found = [0]
    while found[-1] <= horizon:
        found.append(found[-1] + max(1, found[-1] // STARTS_APART))
    return np.array(found, dtype=np.int64)


class Grid:
    """Prices that are linear between knots: any such λ ≥ 0 is one that certifies.

    Parameters
    ----------
    knots
        Increasing times from 1 to the horizon; past it the price is 0.
    """

    def __init__(self, knots: Ints) -> None:
        self.knots = knots
        self.times = np.arange(knots[-1] + 1)
        last = max(len(knots) - 2, 0)
        self.knot = np.clip(np.searchsorted(knots, self.times, side="right") - 1, 0, last)
        upper = knots[np.minimum(self.knot + 1, len(knots) - 1)]
        widths = np.maximum(upper - knots[self.knot], 1)
        self.share = np.clip((self.times - knots[self.knot]) / widths, 0.0, 1.0)
        counted = slice(1, None)
        size = len(knots) + 1
        self.weights = (
            np.bincount(self.knot[counted], 1 - self.share[counted], size)
            + np.bincount(self.knot[counted] + 1, self.share[counted], size)
        )[: len(knots)]

    def __len__(self) -> int:
        return len(self.knots)

    def prices(self, at_knots: Floats) -> Floats:
        """Return λ_t for t = 0..T from its values at the knots; nothing is held at time 0."""
        prices = np.interp(self.times, self.knots, at_knots)
        prices[0] = 0.0
        return prices


class Master:
    """The LP over the columns so far: one memory row a knot, one convexity row a cluster.

    A column says where all requests of a cluster start.  The row of knot k adds up the memory
    rows of all times t, weighted by the hat function φ_k(t) that is 1 at the knot and falls to 0
    at its neighbours: Σ_t φ_k(t)·held_t ≤ M Σ_t φ_k(t).  With a knot at every time these are the
    memory rows themselves.  Its dual is the price at the knot, λ_t = Σ_k λ_k φ_k(t).
    """

    def __init__(self, instance: Instance, classes: Classes, grid: Grid, constant: int) -> None:
        self._memory, self._classes, self._constant = instance.memory, classes, constant
        clusters = min(len(classes), MOST_CLUSTERS)
        self._members = np.arange(len(classes))
        if clusters < len(classes):
            self._members = np.lexsort((classes.volumes, classes.arrivals // classes.span))
        self._offsets = np.linspace(0, len(classes), clusters + 1).astype(np.int64)
        self._cluster = np.empty(len(classes), dtype=np.int64)
        self._cluster[self._members] = np.repeat(np.arange(clusters), np.diff(self._offsets))
        # Starts of a cluster are told apart by a random sum: a collision would lose one column,
        # never validity.
        self._marks = np.random.default_rng(0).integers(1, 1 << 62, len(classes))
        self._proposals: list[Ints] = []
        self._kept = 0
        self._keys: Ints = np.empty(0, dtype=np.int64)
        self._clusters: Ints = np.empty(0, dtype=np.int64)
        self._origins: Ints = np.empty(0, dtype=np.int64)
        self._costs: Floats = np.empty(0)
        self.grid = grid
        self.rows: Rows | None = None
        self._use = sp.csr_matrix((0, len(grid)))

    @property
    def size(self) -> tuple[int, int, int]:
        """Columns, rows and matrix entries."""
        columns = len(self._costs)
        return columns, self._use.shape[1] + len(self._offsets) - 1, self._use.nnz + columns

    def add(self, starts: Ints, *, keep: bool = False) -> int:
        """Add the columns of a start round for every class; return how many are new.

        Those to ``keep`` are never dropped: they hold what makes every finer master feasible.
        """
        classes = self._classes
        with np.errstate(over="ignore"):
            marked = (starts + 1) * self._marks
            keys = np.add.reduceat(marked[self._members], self._offsets[:-1])
            keys += np.arange(len(keys)) * 0x9E3779B97F4A7C1
        new = np.flatnonzero(~np.isin(keys, self._keys))
        if not len(new):
            return 0
        costs = np.bincount(self._cluster, classes.sizes * starts, len(self._offsets) - 1)
        self._proposals.append(starts)
        if keep:
            self._kept = len(self._proposals)
        self._use = sp.vstack([self._use, self._use_of(starts)[new]], format="csr")
        self._keys = np.concatenate([self._keys, keys[new]])
        self._clusters = np.concatenate([self._clusters, new])
        self._origins = np.concatenate([self._origins, np.full(len(new), len(self._proposals) - 1)])
        self._costs = np.concatenate([self._costs, costs[new]])
        return len(new)

    def refine(self, grid: Grid, rows: Rows | None = None) -> None:
        """Take another grid, other look-ahead rows, and the use of all columns anew."""
        self.grid, self.rows = grid, rows
        use = sp.csr_matrix((0, len(grid) + (len(rows) if rows else 0)))
        for origin in np.unique(self._origins).tolist():
            chosen = self._clusters[self._origins == origin]
            use = sp.vstack([use, self._use_of(self._proposals[origin])[chosen]], format="csr")
        # Columns are added by origin, so the stack has their order.
        self._use = use

    def drop(
        self, prices: Floats, payments: Floats, costs: Floats, weights: Floats, above: float
    ) -> Floats:
        """Drop unused columns that cost more than ``above`` rounds beyond their cluster's best.

        Returns the weights of the columns that are left, in their new places.

        Parameters
        ----------
        prices, payments, costs
            λ at the knots, that of each look-ahead row, and the cheapest cost of each class.
        weights
            Of the columns when the master was last solved; later columns are unused.
        """
        least = np.bincount(self._cluster, costs * self._classes.sizes, len(self._offsets) - 1)
        excess = self._costs + self._use @ (np.concatenate([prices, payments]) * self._worth())
        excess -= least[self._clusters]
        keep = (excess <= above) | (self._origins < self._kept)
        keep[: len(weights)] |= weights > 1e-7
        self._use = self._use[np.flatnonzero(keep)]
        self._keys, self._clusters = self._keys[keep], self._clusters[keep]
        self._origins, self._costs = self._origins[keep], self._costs[keep]
        left: Floats = weights[keep[: len(weights)]]
        return left

    def solve(self, seconds: float, threads: int) -> Solution | None:
        """Solve the LP by interior point, or else by simplex; None if HiGHS does not finish."""
        columns, rows, _ = self.size
        held = self._use.shape[1]
        scale = max(1.0, float(np.abs(self._costs).mean()))
        convexity = sp.csr_matrix(
            (np.ones(columns), (np.arange(columns), self._clusters)), (columns, rows - held)
        )
        # A row of the transposed matrix is a column of the LP.
        matrix = sp.hstack([self._use, convexity], format="csr")
        lower = np.where(np.arange(rows) < held, -np.inf, 1.0)
        lp = LP(self._costs / scale, matrix, lower, np.ones(rows))
        for solver in ("ipm", "simplex"):
            engine = run_highs(lp, seconds, solver, threads)
            if status(engine) == "kOptimal":
                return self._solution(engine, scale)
            if status(engine) == "kTimeLimit":
                return None
        return None

    def _solution(self, engine: Any, scale: float) -> Solution:
        solution = engine.getSolution()
        duals = np.asarray(solution.row_dual, dtype=np.float64)[: self._use.shape[1]]
        prices = np.maximum(-duals, 0.0) * scale / self._worth()
        return Solution(
            engine.getInfo().objective_function_value * scale + self._constant,
            prices[: len(self.grid)],
            np.asarray(solution.col_value),
            payments=prices[len(self.grid) :],
        )

    def _worth(self) -> Floats:
        """Return what all that a row allows pays at prices of 1: M a token, or M² its M-ths."""
        tokens = (self._memory * self.grid.weights).astype(np.float64)
        if self.rows is None:
            return tokens
        return np.concatenate([tokens, float(self._memory) ** 2 * self.rows.weights])

    def expected_starts(self, weights: Floats) -> Floats:
        """Return Σ t·x of each class, shape (classes,), rounds."""
        expected = np.zeros(len(self._classes))
        total = np.zeros(len(self._classes))
        for origin, weight in self._used(weights):
            expected += weight * self._proposals[origin]
            total += weight
        return expected / np.maximum(total, 1e-12)

    def held(self, weights: Floats, length: int) -> Floats:
        """Return the tokens that the master's solution holds at times 0..length − 1."""
        classes = self._classes
        active, base = np.zeros(length + 1), np.zeros(length + 1)
        for origin, weight in self._used(weights):
            requests = weight * classes.sizes
            starts = self._proposals[origin]
            begin = np.minimum(starts + 1, length)
            end = np.minimum(starts + classes.outputs + 1, length)
            offset = requests * (classes.prompts - starts)
            active += np.bincount(begin, requests, length + 1)
            active -= np.bincount(end, requests, length + 1)
            base += np.bincount(begin, offset, length + 1) - np.bincount(end, offset, length + 1)
        held: Floats = (np.cumsum(base) + np.cumsum(active) * np.arange(length + 1))[:length]
        return held

    def last_completion(self, weights: Floats) -> int:
        """Return the last round at which a column in use completes a request."""
        ends = [
            int((self._proposals[origin] + self._classes.outputs)[weight > 1e-9].max(initial=0))
            for origin, weight in self._used(weights)
        ]
        return max(ends, default=0)

    def _used(self, weights: Floats) -> list[tuple[int, Floats]]:
        """Return, for each proposal in use, its weight in every class."""
        used: list[tuple[int, Floats]] = []
        count = len(weights)
        for origin in np.unique(self._origins[:count][weights > 1e-9]).tolist():
            chosen = self._origins[:count] == origin
            by_cluster = np.zeros(len(self._offsets) - 1)
            np.add.at(by_cluster, self._clusters[:count][chosen], weights[chosen])
            used.append((int(origin), by_cluster[self._cluster]))
        return used

    def started(self, weights: Floats) -> tuple[Ints, Ints, Floats]:
        """Return class, start and requests of what the master's solution starts."""
        used = self._used(weights)
        size = len(self._classes)
        owners = np.tile(np.arange(size), len(used))
        starts = np.concatenate([self._proposals[origin] for origin, _ in used])
        masses = np.concatenate([weight * self._classes.sizes for _, weight in used])
        some = masses > 1e-6
        pairs, where = np.unique(
            np.stack([owners[some], starts[some]]), axis=1, return_inverse=True
        )
        owners, starts = np.ascontiguousarray(pairs)
        return owners, starts, np.bincount(where.ravel(), masses[some]).astype(np.float64)

    def _use_of(self, starts: Ints) -> Any:
        """Return the rows' share of use by cluster, sparse, shape (clusters, rows)."""
        tokens = self._token_use(starts)
        if self.rows is None:
            return tokens
        from formulations.lagrangian.lookahead_kernels import row_use  # loads the compiler

        classes, rows = self._classes, self.rows
        scale = 1.0 / (float(self._memory) ** 2 * rows.weights)
        use = np.zeros((len(classes), len(rows)))
        of_rows = (rows.sums.rows, rows.sums.prefix, rows.sums.core)
        columns = (classes.prompts, classes.outputs, classes.sizes)
        row_use(columns, starts, *of_rows, self._memory, scale, 0, len(classes), use)
        paid = np.add.reduceat(use[self._members], self._offsets[:-1])
        return sp.hstack([tokens, sp.csr_matrix(paid)], format="csr")

    def _token_use(self, starts: Ints) -> Any:
        """Return the token rows' share of use by cluster, sparse, shape (clusters, knots)."""
        from formulations.lagrangian.kernels import token_use  # loads the compiler

        classes, grid = self._classes, self.grid
        use = np.zeros((len(self._offsets) - 1, len(grid) + 1))
        of_classes = (starts, classes.prompts, classes.outputs, classes.sizes)
        token_use(self._members, self._offsets, *of_classes, grid.knot, grid.share, use)
        return sp.csr_matrix(use[:, :-1] / (self._memory * grid.weights))
