"""A proximal bundle: the highest point of a concave function that is known by its cuts.

Source: Lemaréchal's and Kiwiel's proximal bundle methods; a step is Mehrotra's primal-dual method.

Nothing here has to be right for a bound to be: the function is evaluated elsewhere, at any points.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A cut: the function is at most constant + slope · v.
Cut = tuple[float, Ints]

#: Steps after which a cut without weight goes, and the least weight.
IDLE, WEIGHTLESS = 60, 1e-6
#: Shares of the model's promise: of a serious step, and of a step that lengthens the next one.
SERIOUS, LONGER = 0.1, 0.5
#: Null steps after which steps get shorter, their factor, and the share of the promise below which
#: one step is enough.
PATIENCE, SHORTER, BAD = 3, 0.6, -0.5
#: Distance of a model from the cheap values at its point, as a share of the promise, and the most
#: cheap evaluations in one step.
CLOSE, CHEAP = 0.05, 60
#: Length of the first step, as a share of the way to the upper bound along the cut.
FIRST = 0.5
#: Most steps of Newton's method, and the share of the way to the boundary of each.
MOST_NEWTON, NEWTON_SHARE = 40, 0.995
#: At the end: share of the promise that slacks times weights may be, distance of the weights' sum
#: from 1.
MISSING, INCOMPLETE = 1.0, 0.05


class Bundle:
    """Cuts of a concave function of v ∈ Rᵏ, k the ``size``, with no value above ``upper``.

    Steps go from the ``centre``, where the function has the ``value``, and are ``length`` times the
    slope of a single cut.  The model at the proposed point exceeds the value by ``promised``.
    """

    def __init__(self, size: int, upper: float) -> None:
        self.centre: Floats = np.zeros(size)
        self.value, self.length, self.promised = -np.inf, 0.0, 0.0
        self._constants, self._slopes, self._idle = [upper], [np.zeros(size)], [0]
        self._places = {np.zeros(size, dtype=np.int64).tobytes(): 0}
        self._waited = 0

    def add(self, cut: Cut) -> bool:
        """Take a cut; return whether it is news."""
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
        """Return the next point, refined by ``cheap`` cuts; None where no better one is known."""
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
        """Take the value at the proposed point: go there, or shorten steps."""
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
        """Take a more exact value at the centre."""
        self.value, self._waited = value, 0

    def _step(self) -> Floats | None:
        """Return the best point of the model, not too far from the centre."""
        slopes = np.array(self._slopes)
        constants = np.array(self._constants) + slopes @ self.centre
        margin = max(self._constants[0] - self.value, 1.0)
        found = proximal_step(constants, slopes, self.length, self.value, margin)
        if found is None:
            return None
        step, weights = found
        weightless = weights <= WEIGHTLESS * weights.sum()
        self._idle = [(idle + 1) * bool(x) for idle, x in zip(self._idle, weightless, strict=True)]
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

    A primal-dual interior point method on d and the least of the cuts, shape (cuts,).  It starts
    ``margin`` below that, and ends once slacks times weights are a share of the promise above
    ``value``.  None where it makes no step.
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
