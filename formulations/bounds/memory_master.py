"""The master LP of memory prices.  Only an engine's process may use it: it loads HiGHS."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from formulations.bounds.highs_lp import Floats, LinearProgram, run_highs
from formulations.bounds.pricing import MOST_CLUSTERS, Ints, MasterRows, PriceGrid, RequestClasses
from instances import Instance


@dataclass(frozen=True)
class MasterSolution:
    """Optimum of a master LP: objective (rounds), prices on its grid, weight of each column.

    Columns are starts.  ``payments`` are the prices of look-ahead rows on M-ths of tokens.
    """

    objective: float
    prices: Floats
    weights: Floats
    payments: Floats


class MasterLP:
    """The LP over the columns so far: one memory row a knot, one convexity row a cluster.

    A column has a start for every request of a cluster.  The row of knot k adds up the memory rows
    of all times t, weighted by the hat function φ_k(t) that is 1 at the knot and falls to 0 at its
    neighbours: Σ_t φ_k(t)·held_t ≤ M Σ_t φ_k(t).  With a knot at every time these are the memory
    rows themselves.  Its dual is the price at the knot, λ_t = Σ_k λ_k φ_k(t).
    """

    def __init__(
        self, instance: Instance, classes: RequestClasses, grid: PriceGrid, constant: int
    ) -> None:
        self._memory, self._classes, self._constant = instance.memory, classes, constant
        clusters = min(len(classes), MOST_CLUSTERS)
        self._members = np.arange(len(classes))
        if clusters < len(classes):
            self._members = np.lexsort((classes.volumes, classes.arrivals // classes.span))
        self._offsets = np.linspace(0, len(classes), clusters + 1).astype(np.int64)
        self._cluster = np.empty(len(classes), dtype=np.int64)
        self._cluster[self._members] = np.repeat(np.arange(clusters), np.diff(self._offsets))
        # A random sum names the starts of a cluster: a collision loses one column, never validity.
        self._marks = np.random.default_rng(0).integers(1, 1 << 62, len(classes))
        self._proposals: list[Ints] = []
        self._kept = 0
        # Mark, cluster, proposal and cost of each column.
        self._keys, self._clusters, self._origins = np.empty((3, 0), dtype=np.int64)
        self._costs: Floats = np.empty(0)
        self.grid = grid
        self.rows: MasterRows | None = None
        self._use = sp.csr_matrix((0, len(grid)))

    @property
    def size(self) -> tuple[int, int, int]:
        """Columns, rows and matrix entries."""
        columns = len(self._costs)
        return columns, self._use.shape[1] + len(self._offsets) - 1, self._use.nnz + columns

    def add(self, starts: Ints, *, keep: bool = False) -> int:
        """Add the columns of a start round for every class; return how many are new.

        Columns to ``keep`` stay: they make every finer master feasible.
        """
        with np.errstate(over="ignore"):
            keys = np.add.reduceat(((starts + 1) * self._marks)[self._members], self._offsets[:-1])
            keys += np.arange(len(keys)) * 0x9E3779B97F4A7C1
        new = np.flatnonzero(~np.isin(keys, self._keys))
        if not len(new):
            return 0
        costs = np.bincount(self._cluster, self._classes.sizes * starts, len(self._offsets) - 1)
        self._proposals.append(starts)
        if keep:
            self._kept = len(self._proposals)
        self._use = sp.vstack([self._use, self._use_of(starts)[new]], format="csr")
        self._keys = np.concatenate([self._keys, keys[new]])
        self._clusters = np.concatenate([self._clusters, new])
        self._origins = np.concatenate([self._origins, np.full(len(new), len(self._proposals) - 1)])
        self._costs = np.concatenate([self._costs, costs[new]])
        return len(new)

    def refine(self, grid: PriceGrid, rows: MasterRows | None = None) -> None:
        """Take another grid, other look-ahead rows, and the use of all columns anew."""
        self.grid, self.rows = grid, rows
        parts = [sp.csr_matrix((0, len(grid) + (len(rows) if rows else 0)))]
        for origin in np.unique(self._origins).tolist():
            chosen = self._clusters[self._origins == origin]
            parts.append(self._use_of(self._proposals[origin])[chosen])
        # Columns are added by origin, so the stack has their order.
        self._use = sp.vstack(parts, format="csr")

    def drop(
        self, prices: Floats, payments: Floats, costs: Floats, weights: Floats, above: float
    ) -> Floats:
        """Drop unused columns that cost more than ``above`` rounds beyond their cluster's best.

        ``prices`` are λ at the knots, ``payments`` the prices of look-ahead rows, ``costs`` the
        cheapest of each class, ``weights`` the columns' in the last solution; later columns are
        unused.  Returns the weights of the columns left.
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

    def solve(self, seconds: float, threads: int) -> MasterSolution | None:
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
        lp = LinearProgram(self._costs / scale, matrix, lower, np.ones(rows))
        for solver in ("ipm", "simplex"):
            engine = run_highs(lp, seconds, solver, threads)
            status = engine.getModelStatus().name
            if status == "kOptimal":
                return self._solution(engine, scale)
            if status == "kTimeLimit":
                return None
        return None

    def _solution(self, engine: Any, scale: float) -> MasterSolution:
        solution = engine.getSolution()
        duals = np.asarray(solution.row_dual, dtype=np.float64)[: self._use.shape[1]]
        prices = np.maximum(-duals, 0.0) * scale / self._worth()
        return MasterSolution(
            engine.getInfo().objective_function_value * scale + self._constant,
            prices[: len(self.grid)],
            np.asarray(solution.col_value),
            prices[len(self.grid) :],
        )

    def _worth(self) -> Floats:
        """Return the worth of each row at prices of 1: M a token, or M² its M-ths."""
        tokens = (self._memory * self.grid.weights).astype(np.float64)
        if self.rows is None:
            return tokens
        return np.concatenate([tokens, float(self._memory) ** 2 * self.rows.weights])

    def expected_starts(self, weights: Floats) -> Floats:
        """Return Σ t·x of each class, shape (classes,), rounds."""
        expected, total = np.zeros((2, len(self._classes)))
        for origin, weight in self._used(weights):
            expected += weight * self._proposals[origin]
            total += weight
        return expected / np.maximum(total, 1e-12)

    def held(self, weights: Floats, length: int) -> Floats:
        """Return the tokens that the master's solution holds at times 0..length − 1."""
        classes = self._classes
        active, base = np.zeros((2, length + 1))
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
        used = ((self._proposals[origin], weight) for origin, weight in self._used(weights))
        ends = ((starts + self._classes.outputs)[weight > 1e-9] for starts, weight in used)
        return max((int(each.max(initial=0)) for each in ends), default=0)

    def started(self, weights: Floats) -> tuple[Ints, Ints, Floats]:
        """Return class, start and requests of the starts in the master's solution."""
        used = self._used(weights)
        owners = np.tile(np.arange(len(self._classes)), len(used))
        starts = np.concatenate([self._proposals[origin] for origin, _ in used])
        masses = np.concatenate([weight * self._classes.sizes for _, weight in used])
        some = masses > 1e-6
        rows = np.stack([owners[some], starts[some]])
        pairs, where = np.unique(rows, axis=1, return_inverse=True)
        owners, starts = np.ascontiguousarray(pairs)
        return owners, starts, np.bincount(where.ravel(), masses[some]).astype(np.float64)

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

    def _use_of(self, starts: Ints) -> Any:
        """Return the rows' share of use by cluster, sparse, shape (clusters, rows)."""
        from formulations.lagrangian.lookahead_kernels import row_use
        from formulations.lagrangian.price_kernels import token_use  # loads the compiler

        classes, grid, rows = self._classes, self.grid, self.rows
        held = np.zeros((len(self._offsets) - 1, len(grid) + 1))
        of_classes = (starts, classes.prompts, classes.outputs, classes.sizes)
        token_use(self._members, self._offsets, *of_classes, grid.knot, grid.share, held)
        tokens = sp.csr_matrix(held[:, :-1] / (self._memory * grid.weights))
        if rows is None:
            return tokens
        scale = 1.0 / (float(self._memory) ** 2 * rows.weights)
        use = np.zeros((len(classes), len(rows)))
        columns = (classes.prompts, classes.outputs, classes.sizes)
        row_use(columns, starts, *rows.sums, self._memory, scale, use)
        paid = np.add.reduceat(use[self._members], self._offsets[:-1])
        return sp.hstack([tokens, sp.csr_matrix(paid)], format="csr")
