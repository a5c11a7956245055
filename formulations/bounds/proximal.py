"""Proximal steps: prices that a model of the Lagrangian likes, not too far from the best ones.

Nothing here has to be right for a bound to be: any prices ≥ 0 certify one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from formulations.bounds.highs import Floats
from formulations.valid.states import Ints

#: Most entries of the matrix, 8 bytes each.
ENTRIES_UP_TO = 50_000_000
#: Products of its factorisation a second, about.
PRODUCTS_A_SECOND = 1e10
#: Share of what the model promises up to which slacks times multipliers may be left at the end.
MISSING = 1.0
#: Steps of Newton's method at most, and the share of the way to the boundary that each goes.
MOST_STEPS, STEP_SHARE = 40, 0.995
#: Relative distance from Σ z = size at which weights count as complete.
INCOMPLETE = 0.05


@dataclass(frozen=True)
class Model:
    """A concave model of the Lagrangian at points y ≥ 0: Σ_i sizes_i·u_i − worth·y.

    u_i is the least of base_c + a_c·y over the columns c that i owns; every other column asks for
    base_c + a_c·y ≥ 0, and has the last of its points to itself and others like it, with factor 1.

    Attributes
    ----------
    columns
        The rows a_c, CSR with sorted indices, shape (columns, points).
    base, owner
        Shape (columns,); owner −1 is none, and every owner has a column.
    sizes, worth
        Shapes (owners,) and (points,).
    """

    columns: Any
    base: Floats
    owner: Ints
    sizes: Floats
    worth: Floats

    @cached_property
    def owned(self) -> Ints:
        """Positions of the columns with an owner."""
        return np.flatnonzero(self.owner >= 0)

    def sums(self, weights: Floats) -> Floats:
        """Return the sum of the columns' weights by owner."""
        found = np.bincount(self.owner[self.owned], weights[self.owned], len(self.sizes))
        return found.astype(np.float64)

    def least(self, slack: Floats) -> Floats:
        """Return u: the least slack, at u = 0, of each owner's columns."""
        found = np.full(len(self.sizes), np.inf)
        np.minimum.at(found, self.owner[self.owned], slack[self.owned])
        return found

    def slack(self, point: Floats, least: Floats) -> Floats:
        """Return base + a·y, less u where there is an owner."""
        slack: Floats = self.base + self.columns @ point
        slack[self.owned] -= least[self.owner[self.owned]]
        return slack

    @cached_property
    def band(self) -> tuple[int, list[int]]:
        """Width of the panels, and how many follow each one that its columns reach."""
        rows, index = self.columns.indptr, self.columns.indices
        full = np.flatnonzero(np.diff(rows))
        low, high = index[rows[full]], index[rows[full + 1] - 1]
        points = self.columns.shape[1]
        width = int(min(max(48, (high - low).max(initial=0) // 5), 128, points))
        reach = np.arange(-(-points // width))
        np.maximum.at(reach, low // width, high // width)
        return width, (np.maximum.accumulate(reach) - np.arange(len(reach))).tolist()


class _Banded:
    """Cholesky factor of a symmetric matrix kept in panels; see ``pattern_kernels.add_normal``."""

    def __init__(self, panels: Floats, follow: list[int]) -> None:
        from scipy.linalg.blas import dtrsm

        self._panels, self._follow, self._solve = panels, follow, dtrsm
        width = panels.shape[2]
        for p, far in enumerate(follow):
            panels[p, :width] = np.linalg.cholesky(panels[p, :width])
            below = panels[p, width : (far + 1) * width]
            if far:
                dtrsm(1.0, panels[p, :width].T, below.T, lower=0, trans_a=1, overwrite_b=1)
            for e in range(far):
                part = below[e * width :]
                panels[p + e + 1, : len(part)] -= part @ part[:width].T

    def forward(self, right: Floats) -> None:
        """Multiply by L⁻¹ in place, shape (points, ·)."""
        for here, later, diagonal, below in self._parts(right):
            here[:] = self._solve(1.0, diagonal, here.T, side=1, lower=0).T
            later -= below @ here

    def backward(self, right: Floats) -> None:
        """Multiply by L⁻ᵀ in place, shape (points, ·)."""
        for here, later, diagonal, below in reversed(self._parts(right)):
            here -= below.T @ later
            here[:] = self._solve(1.0, diagonal, here.T, side=1, lower=0, trans_a=1).T

    def _parts(self, right: Floats) -> list[tuple[Floats, Floats, Floats, Floats]]:
        width = self._panels.shape[2]
        parts = []
        for p, far in enumerate(self._follow):
            low, high = p * width, (p + 1) * width
            later = right[high : high + far * width]
            panel = self._panels[p]
            below = panel[width : (far + 1) * width]
            parts.append((right[low:high], later, panel[:width].T, below))
        return parts


class _Newton:
    """Newton's steps of the interior point method from one point, with one factorisation."""

    def __init__(self, model: Model, pull: Floats, ratio: Floats, ratio_of_points: Floats) -> None:
        from formulations.bounds.pattern_kernels import add_normal  # loads the compiler

        width, follow = model.band
        points = model.columns.shape[1]
        padded = len(follow) * width
        panels = np.zeros((len(follow), (max(follow) + 1) * width, width))
        border, own = np.zeros((padded, len(model.sizes))), np.zeros(len(model.sizes))
        matrix = model.columns
        add_normal(
            matrix.indptr, matrix.indices, matrix.data, ratio, model.owner, panels, border, own
        )
        at = np.arange(padded)
        diagonal = np.ones(padded)
        diagonal[:points] = (pull + ratio_of_points) * (1 + 1e-12)
        panels[at // width, at % width, at % width] += diagonal
        self._factor = _Banded(panels, follow)
        self._factor.forward(border)
        self._border = border
        self._own = np.linalg.cholesky(np.diag(own) - border.T @ border)

    def step(self, right: Floats, right_of_owners: Floats) -> tuple[Floats, Floats]:
        """Return the step of y and that of u."""
        padded = np.zeros((len(self._border), 1))
        padded[: len(right), 0] = right
        self._factor.forward(padded)
        rest = right_of_owners - self._border.T @ padded[:, 0]
        step = np.linalg.solve(self._own.T, np.linalg.solve(self._own, rest))
        padded[:, 0] -= self._border @ step
        self._factor.backward(padded)
        return padded[: len(right), 0], step


@dataclass
class _Iterate:
    """Point y, u, slacks of columns and of y ≥ 0, and their multipliers."""

    point: Floats
    least: Floats
    slack: Floats
    weights: Floats
    weights_of_points: Floats

    def arrays(self) -> tuple[Floats, ...]:
        """Return all of it in order."""
        return self.point, self.least, self.slack, self.weights, self.weights_of_points

    def gap(self) -> float:
        """Return the products of slacks and multipliers, added up."""
        return float(self.slack @ self.weights + self.point @ self.weights_of_points)


def proximal_step(
    model: Model,
    pull: Floats,
    centre: Floats,
    begin: Floats,
    margin: float,
    value: float,
    late: Callable[[float], bool],
) -> tuple[Floats, Floats] | None:
    """Return about where model − ½ Σ pull·(y − centre)² is highest, and the columns' weights.

    Mehrotra's primal-dual method from a feasible point, whose Newton matrix is banded but for the
    owners: a column touches few knots, one after the other.  It ends early, once slacks times
    multipliers come to a share of what the model promises above ``value``.  None without a useful
    point in time.

    Parameters
    ----------
    begin
        Where to start, above 0, and high enough for all columns without an owner.
    margin
        First distance of u from the columns.
    late
        Whether so many seconds more would be too many.
    """
    entries, seconds = _effort(model)
    if entries > ENTRIES_UP_TO:
        return None
    now = _first_iterate(model, begin, margin)
    for step in range(MOST_STEPS):
        if late(seconds):
            return None
        try:
            moved = _moved(model, pull, centre, now)
        except np.linalg.LinAlgError:
            # The end of what rounding allows.
            return (now.point, now.weights) if step else None
        if not all(np.all(np.isfinite(each)) for each in moved.arrays()):
            return (now.point, now.weights) if step else None
        now = moved
        promised = float(model.sizes @ now.least - model.worth @ now.point) - value
        lacking = np.abs(model.sums(now.weights) / model.sizes - 1).max()
        if now.gap() < MISSING * max(promised, 1e-6 * abs(value)) and lacking < INCOMPLETE:
            break
    return now.point, now.weights


def _effort(model: Model) -> tuple[int, float]:
    """Return how many numbers a Newton step keeps of its matrix, and about how long it takes."""
    (width, follow), owners = model.band, len(model.sizes)
    points, height = len(follow) * width, (max(follow) + 1) * width
    heights = [(far + 1) * width for far in follow]
    products = width * sum(each * (each + 2 * owners) for each in heights)
    products += points * owners * owners + owners**3
    return points * (height + owners) + owners * owners, products / PRODUCTS_A_SECOND


def _first_iterate(model: Model, begin: Floats, margin: float) -> _Iterate:
    """Return an iterate whose weights add up to the sizes of each owner."""
    nothing = np.zeros(len(model.sizes))
    least = model.least(model.slack(begin, nothing)) - margin
    slack = model.slack(begin, least)
    weights = 1.0 / slack
    weights[model.owned] *= (model.sizes / model.sums(weights))[model.owner[model.owned]]
    free = np.flatnonzero(model.owner < 0)
    if len(free):
        # What they weigh on their last points is what these are worth.
        last = model.columns.indices[model.columns.indptr[free + 1] - 1]
        weights[free] *= model.worth[last] / np.bincount(last, weights[free])[last]
    mean = float(slack @ weights) / len(slack)
    return _Iterate(begin, least, slack, weights, mean / begin)


def _moved(model: Model, pull: Floats, centre: Floats, now: _Iterate) -> _Iterate:
    """Return the next iterate: a predictor, and a corrector with the same factorisation."""
    y, z, points = now.point, now.weights, now.weights_of_points
    off = pull * (y - centre) + model.worth - model.columns.T @ z - points
    off_owners = model.sums(z) - model.sizes
    ratio, ratio_of_points = z / now.slack, points / y
    newton = _Newton(model, pull, ratio, ratio_of_points)

    def step(product: Floats, product_of_points: Floats) -> tuple[Floats, ...]:
        part = product / now.slack
        right = -off - model.columns.T @ part - product_of_points / y
        dy, du = newton.step(right, model.sums(part) - off_owners)
        ds: Floats = model.columns @ dy
        ds[model.owned] -= du[model.owner[model.owned]]
        return dy, du, ds, -part - ratio * ds, -product_of_points / y - ratio_of_points * dy

    count = len(z) + len(y)
    dy, _, ds, dz, dp = step(now.slack * z, y * points)
    far = min(_longest(now.slack, ds), _longest(y, dy))
    weighed = min(_longest(z, dz), _longest(points, dp))
    gap, mean = now.gap(), now.gap() / count
    left = (now.slack + far * ds) @ (z + weighed * dz) + (y + far * dy) @ (points + weighed * dp)
    target = (left / gap) ** 3 * mean
    change = step(now.slack * z + ds * dz - target, y * points + dy * dp - target)
    dy, _, ds, dz, dp = change
    pairs = ((now.slack, ds), (y, dy), (z, dz), (points, dp))
    length = STEP_SHARE * min(_longest(each, by) for each, by in pairs)
    return _Iterate(*(each + length * by for each, by in zip(now.arrays(), change, strict=True)))


def _longest(values: Floats, change: Floats) -> float:
    """Return how far the change can go until a value is 0, at most 1."""
    falls = change < 0
    return min(1.0, float((-values[falls] / change[falls]).min(initial=1.0)))
