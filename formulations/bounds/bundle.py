"""A proximal bundle: the highest point of a concave function that is known by its cuts.

Source: Lemaréchal's and Kiwiel's proximal bundle methods; a step is Mehrotra's primal-dual method.

Nothing here has to be right for a bound to be: the function is evaluated elsewhere, at any points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A cut: the function is at most constant + slope · v.
Cut = tuple[float, Ints]

#: Steps after which a cut without weight is dropped, and the least weight.
IDLE, WEIGHTLESS = 60, 1e-6
#: Share of what the model promises from which a step is a serious one, or lengthens the next one.
SERIOUS, LONGER = 0.1, 0.5
#: Null steps after which steps get shorter, and by what they do; share of the promise below 0 after
#: which they do at once.
PATIENCE, SHORTER, BAD = 3, 0.6, -0.5
#: How far a model at the point of a step may be from the values there, as a share of the promise,
#: and evaluations of what is cheap in one step.
CLOSE, CHEAP = 0.05, 60
#: Length of the first step, as a share of that which would bring the cut to the upper bound.
FIRST = 0.5
#: Steps of Newton's method at most, and the share of the way to the boundary that each goes.
MOST_NEWTON, NEWTON_SHARE = 40, 0.995
#: Share of what the model promises up to which slacks times weights may be left at the end, and the
#: distance from 1 at which the sum of weights counts as complete.
MISSING, INCOMPLETE = 1.0, 0.05


class Bundle:
    """Cuts of a concave function of v ∈ Rᵏ, k the ``size``, with no value above ``upper``.

    Steps go from the ``centre``, where the function has the ``value``; the slope of a single cut is
    multiplied by the ``length``.
    """

    def __init__(self, size: int, upper: float) -> None:
        self.centre: Floats = np.zeros(size)
        self.value = -np.inf
        self.length = 0.0
        self._constants, self._slopes = [upper], [np.zeros(size)]
        self._idle = [0]
        self._places = {np.zeros(size, dtype=np.int64).tobytes(): 0}
        self._waited = 0
        #: By how much the model at the point proposed exceeds the value at the centre.
        self.promised = 0.0

    def add(self, cut: Cut) -> bool:
        """Take a cut; tell whether it is news."""
        constant, slope = cut
        place = self._places.setdefault(slope.tobytes(), len(self._constants))
        if place < len(self._constants):
            news = constant < self._constants[place] - 1e-9
            self._constants[place] = min(constant, self._constants[place])
            return news
        self._constants.append(constant)
        self._slopes.append(slope.astype(np.float64))
        self._idle.append(0)
        return True

    def model(self, point: Floats) -> float:
        """Return the least of the cuts at a point: no value there is above it."""
        return float((np.array(self._constants) + np.array(self._slopes) @ point).min())

    def begin(self, value: float, cut: Cut) -> None:
        """Begin at 0, with the value and a cut there."""
        self.value = value
        # Before the cut, which is the upper bound where its slope is 0.
        gap = max(self._constants[0] - value, 1.0)
        self.length = FIRST * gap / max(float(cut[1] @ cut[1]), 1.0)
        self.add(cut)

    def propose(self, cheap: Callable[[Floats], list[Cut]]) -> Floats | None:
        """Return the next point; None where no better one is in sight.

        ``cheap`` returns cuts at a point that cost next to nothing, so the model is refined by them
        before anything else is asked.
        """
        point = self._step()
        for _ in range(CHEAP):
            if point is None:
                return None
            self.promised = self.model(point) - self.value
            cuts = cheap(point)
            least = min((constant + float(slope @ point) for constant, slope in cuts), default=0.0)
            news = [self.add(cut) for cut in cuts]
            near = least >= self.value + (1 - CLOSE) * self.promised
            if near or not any(news):
                break
            point = self._step()
        self._forget()
        return point

    def take(self, point: Floats, value: float) -> None:
        """Take the value at the point proposed: go there, or have steps shortened."""
        share = (value - self.value) / max(self.promised, 1e-12)
        if share > SERIOUS:
            self.centre, self.value, self._waited = point, value, 0
            if share > LONGER:
                self.length *= 2
            return
        self._waited += 1
        if self._waited >= PATIENCE or share < BAD:
            self.length, self._waited = self.length * SHORTER, 0

    def restart(self, value: float) -> None:
        """Take another value at the centre, as where it is evaluated more exactly than before."""
        self.value, self._waited = value, 0

    def _step(self) -> Floats | None:
        """Return the point that the model likes best, not too far from the centre."""
        slopes = np.array(self._slopes)
        constants = np.array(self._constants) + slopes @ self.centre
        margin = max(self._constants[0] - self.value, 1.0)
        found = proximal_step(constants, slopes, self.length, self.value, margin)
        if found is None:
            return None
        step, weights = found
        weightless = weights <= WEIGHTLESS * weights.sum()
        self._idle = [
            idle + 1 if each else 0 for idle, each in zip(self._idle, weightless, strict=True)
        ]
        point: Floats = self.centre + step
        return point

    def _forget(self) -> None:
        """Drop cuts that have had no weight for long, but not the upper bound."""
        kept = [x for x, idle in enumerate(self._idle) if idle < IDLE or x == 0]
        if len(kept) == len(self._idle):
            return
        self._constants = [self._constants[x] for x in kept]
        self._slopes = [self._slopes[x] for x in kept]
        self._idle = [self._idle[x] for x in kept]
        self._places = {slope.astype(np.int64).tobytes(): x for x, slope in enumerate(self._slopes)}


def proximal_step(
    constants: Floats, slopes: Floats, length: float, value: float, margin: float
) -> tuple[Floats, Floats] | None:
    """Return about where min (constants + slopes·d) − |d|² / (2 · length) is highest, and weights.

    A primal-dual interior point method on d and the least of the cuts, shape (cuts,), which begins
    by ``margin`` below that, and ends once slacks times weights come to a share of what is promised
    above ``value``.  None where not a single step can be made.
    """
    matrix = np.column_stack((slopes, -np.ones(len(constants))))
    pull = np.full(matrix.shape[1], 1 / length)
    pull[-1] = 0.0
    point: Floats = np.zeros(matrix.shape[1])
    point[-1] = constants.min() - margin
    slack: Floats = constants + matrix @ point
    weights: Floats = 1 / slack
    weights /= weights.sum()
    found = None
    for _ in range(MOST_NEWTON):
        try:
            far, along, change = _newton_step(matrix, pull, point, slack, weights)
        except np.linalg.LinAlgError:
            break
        by = NEWTON_SHARE * min(_longest(slack, along), _longest(weights, change))
        point, slack, weights = point + by * far, slack + by * along, weights + by * change
        if not (np.isfinite(point).all() and np.isfinite(weights).all()):
            # The end of what rounding allows.
            break
        found = point[:-1], weights
        promised = max(point[-1] - value, 1e-6 * margin)
        if slack @ weights < MISSING * promised and abs(weights.sum() - 1) < INCOMPLETE:
            break
    return found


def _newton_step(
    matrix: Floats, pull: Floats, point: Floats, slack: Floats, weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the step of the point, of slacks and of weights: Mehrotra's corrector."""
    off: Floats = pull * point - matrix.T @ weights
    off[-1] -= 1.0
    ratio = weights / slack
    whole: Floats = (matrix.T * ratio) @ matrix
    whole[np.diag_indices_from(whole)] += pull

    def step(product: Floats) -> tuple[Floats, Floats, Floats]:
        part = product / slack
        right: Floats = -off - matrix.T @ part
        far: Floats = np.linalg.solve(whole, right).astype(np.float64)
        along: Floats = matrix @ far
        change: Floats = -part - ratio * along
        return far, along, change

    _, ds, dz = step(slack * weights)
    left = (slack + _longest(slack, ds) * ds) @ (weights + _longest(weights, dz) * dz)
    gap = slack @ weights
    return step(slack * weights + ds * dz - (left / gap) ** 3 * gap / len(slack))


def _longest(values: Floats, change: Floats) -> float:
    """Return how far the change can go until a value is 0, at most 1."""
    falls = change < 0
    return min(1.0, float((-values[falls] / change[falls]).min(initial=1.0)))
