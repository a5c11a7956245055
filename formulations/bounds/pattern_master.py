"""The LP between starts and patterns, over the columns found so far.

Only an engine's process may use it: it loads HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from formulations.bounds.generation import Solution
from formulations.bounds.highs import LP, Floats, run_highs, status
from formulations.lagrangian.states import Grids, hats
from formulations.valid.states import Ints, States
from instances import Instance


class PatternMaster:
    """One row for each point of the grids, one for each request, one for each knot.

    The row of knot k and state point (a, c) says: what the starts use of it, Σ over times and
    states passed through of φ_k(t) ψ_a(w) ψ_c(r), is at most what the chosen patterns offer,
    where φ and ψ are hat functions, 1 at their point and 0 at its neighbours.  Each request starts
    once, and the patterns at knot k weigh Σ_t φ_k(t) together.  The duals are prices.
    """

    def __init__(self, instance: Instance, states: States, grids: Grids) -> None:
        self._states, self._n = states, len(instance)
        self._outputs = instance.outputs
        self._offsets = np.concatenate(([0], np.cumsum(self._outputs)))
        self._constant = int((instance.outputs - instance.arrivals).sum())
        self.owners: Ints = np.empty(0, dtype=np.int64)
        self.starts: Ints = np.empty(0, dtype=np.int64)
        self._start_keys: set[tuple[int, int]] = set()
        self.knots: Ints = np.empty(0, dtype=np.int64)
        self._patterns: list[Ints] = []
        self._pattern_keys: set[tuple[int, bytes]] = set()
        self.refine(grids)

    def refine(self, grids: Grids) -> None:
        """Take other grids with the same number of knots, and count the columns' use anew."""
        self.grids = grids
        knots, tokens, left = grids.shape
        self._points = tokens * left
        by_tokens = hats(grids.tokens, self._states.tokens)
        by_left = hats(grids.left, self._states.left)
        self.features = sp.csr_matrix(
            (by_tokens[:, :, None] * by_left[:, None, :]).reshape(len(self._states), -1)
        )
        self._real = np.diff(self.features.tocsc().indptr) > 0
        self._times = np.arange(grids.knots[-1] + 1)
        hat = hats(grids.knots, self._times)
        hat[0] = 0.0
        self._hat = hat
        self.weights: Floats = hat.sum(axis=0)
        width = knots * self._points
        self._use = sp.csr_matrix((0, width))
        self._offer = sp.csr_matrix((0, width))
        if len(self.starts):
            self._use = self._uses(self.owners, self.starts)
        if self._patterns:
            self._offer = self._offers(self.knots, self._patterns)

    @property
    def columns(self) -> tuple[int, int]:
        """Number of starts and of patterns."""
        return len(self.starts), len(self._patterns)

    @property
    def size(self) -> tuple[int, int, int]:
        """Columns, rows and matrix entries."""
        columns = len(self.starts) + len(self._patterns)
        rows = self._use.shape[1] + self._n + len(self.weights)
        return columns, rows, self._use.nnz + self._offer.nnz + columns

    def add_starts(self, owners: Sequence[int], starts: Sequence[int]) -> int:
        """Add start columns; return how many are new."""
        new = []
        for pair in zip(owners, starts, strict=True):
            if pair not in self._start_keys:
                self._start_keys.add(pair)
                new.append(pair)
        if new:
            own, start = np.array(new, dtype=np.int64).T
            self.owners = np.concatenate([self.owners, own])
            self.starts = np.concatenate([self.starts, start])
            self._use = sp.vstack([self._use, self._uses(own, start)], format="csr")
        return len(new)

    def add_patterns(self, knots: Sequence[int], patterns: Sequence[Ints]) -> int:
        """Add patterns (positions of states) at knots; return how many are new."""
        at, new = [], []
        for knot, pattern in zip(knots, patterns, strict=True):
            key = (knot, np.sort(pattern).tobytes())
            if len(pattern) and key not in self._pattern_keys:
                self._pattern_keys.add(key)
                at.append(knot)
                new.append(pattern)
        if new:
            self.knots = np.concatenate([self.knots, np.array(at, dtype=np.int64)])
            self._patterns += new
            offers = self._offers(np.array(at), new)
            self._offer = sp.vstack([self._offer, offers], format="csr")
        return len(new)

    def keep(self, starts: NDArray[np.bool_], patterns: NDArray[np.bool_]) -> None:
        """Keep these columns only."""
        self.owners, self.starts = self.owners[starts], self.starts[starts]
        self._start_keys = set(zip(self.owners.tolist(), self.starts.tolist(), strict=True))
        self._use = self._use[np.flatnonzero(starts)]
        chosen = np.flatnonzero(patterns)
        self.knots = self.knots[chosen]
        self._patterns = [self._patterns[position] for position in chosen]
        self._pattern_keys = {
            (knot, np.sort(pattern).tobytes())
            for knot, pattern in zip(self.knots.tolist(), self._patterns, strict=True)
        }
        self._offer = self._offer[chosen]

    def pattern_values(self, prices: Floats) -> Floats:
        """Return what each pattern is worth at prices in the grids' shape, shape (patterns,)."""
        values: Floats = self._offer @ prices.ravel()
        return values

    def solve(self, low: Floats, high: Floats, seconds: float, threads: int) -> Solution | None:
        """Solve the LP by interior point without crossover; None if HiGHS does not finish.

        The prices stay between ``low`` and ``high``, both in the grids' shape.  In the LP that is
        a column for each point that buys room at the high price and one that sells it at the low
        one, so every choice of columns has a solution.
        """
        points = self._use.shape[1]
        mean = max(1.0, float(self.starts.mean()))
        lp, scale = self._lp(low, high, mean)
        engine = run_highs(lp, seconds, "ipm", threads)
        if status(engine) != "kOptimal":
            return None
        solution = engine.getSolution()
        duals = np.maximum(-np.asarray(solution.row_dual)[:points], 0.0) * mean
        return Solution(
            engine.getInfo().objective_function_value * mean + self._constant,
            (scale @ duals).reshape(self.grids.shape),
            np.asarray(solution.col_value)[: sum(self.columns)],
            len(self._patterns),
        )

    def _lp(self, low: Floats, high: Floats, mean: float) -> tuple[LP, Any]:
        """Return the LP, with costs in ``mean`` rounds, and what its rows are multiplied by."""
        (starts, patterns), knots = self.columns, len(self.weights)
        points = self._use.shape[1]
        once = sp.csr_matrix((np.ones(starts), (np.arange(starts), self.owners)), (starts, self._n))
        share = sp.csr_matrix(
            (np.ones(patterns), (np.arange(patterns), self.knots)), (patterns, knots)
        )
        # Rows are divided by the knots' weights, so that a pattern column weighs 0..1.
        scale = sp.diags(np.repeat(1.0 / self.weights, self._points))
        # Points that no state is near have no price.
        real = np.flatnonzero(np.tile(self._real, knots))
        trade = sp.csr_matrix(
            (np.ones(len(real)), (np.arange(len(real)), real)), (len(real), points)
        )
        # A row of the transposed matrix is a column of the LP.
        matrix = sp.bmat(
            [
                [self._use @ scale, once, None],
                [-self._offer, None, share],
                [-trade, None, None],
                [trade, None, None],
            ],
            "csr",
        )
        unit = np.repeat(self.weights, self._points)[real] / mean
        bought, sold = high.ravel()[real] * unit, -low.ravel()[real] * unit
        cost = np.concatenate((self.starts / mean, np.zeros(patterns), bought, sold))
        lower = np.full(points + self._n + knots, -np.inf)
        lower[points : points + self._n] = 1.0
        upper = np.concatenate((np.zeros(points), np.ones(self._n + knots)))
        return LP(cost, matrix, lower, upper), scale

    def expected_starts(self, use: Floats) -> Floats:
        """Return Σ t·x of each request, shape (n,), rounds."""
        chosen = slice(0, len(use))
        total = np.bincount(self.owners[chosen], use, self._n)
        expected = np.bincount(self.owners[chosen], use * self.starts[chosen], self._n)
        return expected / np.maximum(total, 1e-12)

    def _uses(self, owners: Ints, starts: Ints) -> Any:
        lengths = self._outputs[owners]
        column = np.repeat(np.arange(len(owners)), lengths)
        age = np.arange(len(column)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
        time = starts[column] + age
        state = self._states.of[self._offsets[owners[column]] + age - 1]
        priced = time < len(self._times)
        column, time, state = column[priced], time[priced], state[priced]
        passes = sp.csr_matrix(
            (np.ones(len(column)), (np.arange(len(column)), column)), (len(column), len(owners))
        )
        # Row-wise product of the hats of time and state, summed over the ages of each start.
        hat = self._hat[time]
        low = np.argmax(hat > 0, axis=1)
        high = np.minimum(low + 1, hat.shape[1] - 1)
        rows = np.arange(len(column))
        total = sp.csr_matrix((len(owners), hat.shape[1] * self._points))
        for knot, share in (
            (low, hat[rows, low]),
            (high, np.where(high > low, hat[rows, high], 0)),
        ):
            part = self.features[state].tocoo()
            spread = sp.csr_matrix(
                (
                    part.data * share[part.row],
                    (part.row, knot[part.row] * self._points + part.col),
                ),
                (len(column), hat.shape[1] * self._points),
            )
            total = total + passes.T @ spread
        return total.tocsr()

    def _offers(self, knots: Ints, patterns: Sequence[Ints]) -> Any:
        lengths = [len(pattern) for pattern in patterns]
        column = np.repeat(np.arange(len(patterns)), lengths)
        part = self.features[np.concatenate(patterns)].tocoo()
        owner = column[part.row]
        return sp.csr_matrix(
            (part.data, (owner, knots[owner] * self._points + part.col)),
            (len(patterns), len(self.grids.knots) * self._points),
        )
