"""The model of the Lagrangian over starts and patterns found so far, and its next prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from formulations.bounds.generation import Solution
from formulations.bounds.highs import Floats
from formulations.bounds.proximal import Model, proximal_step
from formulations.lagrangian.states import Grids, hats, spans
from formulations.valid.states import Ints, States
from instances import Instance

if TYPE_CHECKING:
    from formulations.bounds.memory_master import Classes

#: Columns are dropped when this many times dearer than their share of what the model promises,
#: and if less than this share of their owner has weighed on them.
KEEP_FACTOR, LIGHT = 6.0, 1e-3
#: Columns are dropped where that leaves at most this share.
WORTH_DROPPING = 0.8
#: Points begin at least at this share of the distance that prices may move.
INSIDE = 0.02
#: First distance of u from the columns, as a share of a request's value.
MARGIN = 0.002


class PatternMaster:
    """One point for each knot and state point of the grids, and one for each knot.

    A column says what a start uses of the points, Σ over times and states passed through of
    φ_k(t) ψ_a(w) ψ_c(r), or what a pattern at knot k offers of them, where φ and ψ are hat
    functions, 1 at their point and 0 at its neighbours.  Equal requests share their columns.  At
    prices y every class costs the least of its starts, and a knot is worth what the best of its
    patterns pays: that is the model.  The worth of knot k is the last point of its block.
    """

    def __init__(
        self, instance: Instance, states: States, grids: Grids, classes: Classes, scale: Floats
    ) -> None:
        self._instance, self._states, self._classes = instance, states, classes
        self._scale = scale
        self._constant = int((instance.outputs - instance.arrivals).sum())
        firsts = np.unique(classes.class_of, return_index=True)[1]
        #: A request of each class.
        self.firsts: Ints = firsts.astype(np.int64)
        self._places = (np.cumsum(instance.outputs) - instance.outputs)[self.firsts]
        self.owners: Ints = np.empty(0, dtype=np.int64)
        self.starts: Ints = np.empty(0, dtype=np.int64)
        self._start_keys: set[tuple[int, int]] = set()
        self.knots: Ints = np.empty(0, dtype=np.int64)
        self._patterns: list[Ints] = []
        self._pattern_keys: set[tuple[int, bytes]] = set()
        self._dearness: tuple[Floats, Floats] | None = None
        self.refine(grids)

    def refine(self, grids: Grids) -> None:
        """Take other grids with the same knots, and count the columns' use anew."""
        self.grids = grids
        states, size = self._states, len(grids.left)
        low_w, high_w, width = spans(grids.tokens, states.tokens)
        low_r, high_r, height = spans(grids.left, states.left)
        up, right = (
            (states.tokens - grids.tokens[low_w]) / width,
            (states.left - grids.left[low_r]) / height,
        )
        places = [a * size + c for a in (low_w, high_w) for c in (low_r, high_r)]
        parts = [a * c for a in (1 - up, up) for c in (1 - right, right)]
        points, self._shares = np.stack(places, axis=1), np.stack(parts, axis=1)
        # Points that no state is near have no price.
        self._real = np.unique(points[self._shares > 0])
        self._points = np.where(self._shares > 0, np.searchsorted(self._real, points), 0)
        self._block = len(self._real) + 1
        times = np.arange(grids.knots[-1] + 1)
        self._knot, _, apart = spans(grids.knots, times)
        self._ahead = (times - grids.knots[self._knot]) / apart
        hat = hats(grids.knots, times)
        hat[0] = 0.0
        self.weights: Floats = hat.sum(axis=0)
        # By how much each price may move.
        tokens = np.repeat(grids.tokens, size)[self._real]
        self._unit = self._scale[:, None] * (tokens + self._instance.memory // 10 + 1)
        self._use = self._uses(self.owners, self.starts)
        self._offer = self._offers(self.knots, self._patterns)
        self._dearness = None

    @property
    def columns(self) -> tuple[int, int]:
        """Number of starts and of patterns."""
        return len(self.starts), len(self._patterns)

    @property
    def size(self) -> tuple[int, int, int]:
        """Columns, points and classes, and matrix entries."""
        columns, points = sum(self.columns), self._use.shape[1] + len(self._classes)
        return columns, points, self._use.nnz + self._offer.nnz + len(self.starts)

    def add_starts(self, owners: Sequence[int], starts: Sequence[int]) -> int:
        """Add start columns of classes; return how many are new."""
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
            offers = self._offers(np.array(at, dtype=np.int64), new)
            self.knots = np.concatenate([self.knots, np.array(at, dtype=np.int64)])
            self._patterns += new
            self._offer = sp.vstack([self._offer, offers], format="csr")
        return len(new)

    def solve(
        self, prices: Floats, value: float, reach: float, late: Callable[[float], bool]
    ) -> Solution | None:
        """Return prices that promise more than the best ones, and what they promise.

        Twice the reach costs half as much to go the same way.

        Parameters
        ----------
        prices, value
            The best prices, in the grids' shape, and their Lagrangian value (rounds).
        reach
            If all prices move by their unit, the model loses 1 / (2·reach) of the value.
        late
            Whether so many seconds more would be too many.
        """
        model, point = self.model(), self.point(prices)
        pull = np.zeros((len(self.weights), self._block))
        pull[:, :-1] = self.weights[:, None] / (self._unit**2 * (self._block - 1))
        pull *= abs(value) / (self.weights.sum() * reach)
        begin = point.reshape(pull.shape).copy()
        begin[:, :-1] = np.maximum(begin[:, :-1], INSIDE * self._unit)
        margin = max(MARGIN * abs(value) / len(self._instance), 1e-2)
        begin[:, -1] = self._worths(begin.ravel())[0] + margin
        found = proximal_step(
            model, pull.ravel(), point, begin.ravel(), margin, value - self._constant, late
        )
        if found is None:
            return None
        point, weights = found
        costs = self.starts + self._use @ point
        least = np.full(len(self._classes), np.inf)
        np.minimum.at(least, self.owners, costs)
        worths, paid = self._worths(point)
        objective = float(least @ self._classes.sizes - worths @ self.weights) + self._constant
        self._dearness = (
            (costs - least[self.owners]) * self._classes.sizes[self.owners],
            (worths[self.knots] - paid) * self.weights[self.knots],
        )
        table = np.zeros((len(self.weights), prices[0].size))
        table[:, self._real] = point.reshape(pull.shape)[:, :-1]
        return Solution(objective, table.reshape(prices.shape), weights, len(self._patterns))

    def model(self) -> Model:
        """Return the model of the Lagrangian over all columns, starts first."""
        owner = np.concatenate((self.owners, np.full(len(self._patterns), -1)))
        base = np.concatenate((self.starts.astype(float), np.zeros(len(self._patterns))))
        worth = np.zeros((len(self.weights), self._block))
        worth[:, -1] = self.weights
        columns = sp.vstack([self._use, self._offer], format="csr")
        return Model(columns, base, owner, self._classes.sizes.astype(float), worth.ravel())

    def point(self, prices: Floats) -> Floats:
        """Return the point of prices in the grids' shape, with no knot worth anything."""
        found = np.zeros((len(self.weights), self._block))
        found[:, :-1] = prices.reshape(len(self.weights), -1)[:, self._real]
        return found.ravel()

    def drop(self, solution: Solution, promised: float) -> Solution:
        """Drop columns that are far from paying, where they are many.

        ``promised`` is how much more than the value the solution promises (rounds).  Returns the
        solution with the weights where the columns are now.
        """
        if self._dearness is None:
            return solution
        gap = KEEP_FACTOR * promised
        used = solution.split()
        whole = self._classes.sizes[self.owners[: len(used[0])]]
        both = (
            (self._dearness[0] <= gap / len(self._classes)) | (used[0] > LIGHT * whole),
            (self._dearness[1] <= gap / len(self.weights))
            | (used[1] > LIGHT * self.weights[self.knots[: len(used[1])]]),
        )
        self._dearness = None
        if sum(kept.sum() for kept in both) > WORTH_DROPPING * sum(map(len, both)):
            return solution
        starts, patterns = (
            np.concatenate((kept, np.ones(number - len(kept), dtype=bool)))
            for kept, number in zip(both, self.columns, strict=True)
        )
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
        weights = [each[kept] for each, kept in zip(used, both, strict=True)]
        return Solution(
            solution.objective, solution.prices, np.concatenate(weights), len(weights[1])
        )

    def expected_starts(self, use: Floats) -> Floats:
        """Return Σ t·x of each request, shape (n,), rounds."""
        chosen, classes = slice(0, len(use)), len(self._classes)
        total = np.bincount(self.owners[chosen], use, classes)
        expected = np.bincount(self.owners[chosen], use * self.starts[chosen], classes)
        return (expected / np.maximum(total, 1e-12))[self._classes.class_of]

    def _worths(self, point: Floats) -> tuple[Floats, Floats]:
        """Return what the best pattern of each knot pays, at least 0, and what each one does."""
        at_knots = point.reshape(len(self.weights), self._block)[:, -1]
        paid: Floats = at_knots[self.knots] - self._offer @ point
        worths = np.zeros(len(self.weights))
        np.maximum.at(worths, self.knots, paid)
        return worths, paid

    def _uses(self, owners: Ints, starts: Ints) -> Any:
        from formulations.bounds.pattern_kernels import start_use  # loads the compiler

        outputs = self._classes.outputs[owners]
        made = start_use(
            np.ascontiguousarray(starts), outputs, self._places[owners], self._states.of,
            self._points, self._shares, self._knot, self._ahead, self._block,
        )  # fmt: skip
        uses = sp.csr_matrix(made, (len(starts), len(self.weights) * self._block))
        uses.sort_indices()
        return uses

    def _offers(self, knots: Ints, patterns: Sequence[Ints]) -> Any:
        """Return the worth of the knot less what the patterns pay, as rows."""
        lengths = [len(pattern) for pattern in patterns]
        column = np.repeat(np.arange(len(patterns)), lengths)
        members = np.concatenate([np.empty(0, dtype=np.int64), *patterns])
        at = self._points[members] + (knots[column] * self._block)[:, None]
        ends = (knots + 1) * self._block - 1
        entries = np.concatenate((-self._shares[members].ravel(), np.ones(len(knots))))
        rows = np.concatenate((np.repeat(column, 4), np.arange(len(knots))))
        shape = (len(knots), len(self.weights) * self._block)
        made = sp.csr_matrix((entries, (rows, np.concatenate((at.ravel(), ends)))), shape)
        made.eliminate_zeros()
        made.sort_indices()
        return made
