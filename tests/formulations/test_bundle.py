"""A proximal bundle: its steps against duality, and the highest point of concave functions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from formulations.bounds.proximal_bundle import Bundle, Cut, Floats, proximal_step


@pytest.mark.parametrize("size", [1, 2, 7, 40])
@pytest.mark.parametrize("cuts", [1, 3, 60])
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e4])
def test_no_point_is_better_than_a_step(
    size: int, cuts: int, length: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run to the end, what its weights promise at most is what its point reaches."""
    monkeypatch.setattr("formulations.bounds.proximal_bundle.MISSING", 1e-9)
    monkeypatch.setattr("formulations.bounds.proximal_bundle.INCOMPLETE", 1e-9)
    rng = np.random.default_rng([size, cuts, int(1000 * length)])
    slopes = rng.integers(-3, 4, (cuts, size)).astype(float)
    constants = rng.random(cuts) * rng.choice([1.0, 1000.0])
    # An upper bound, as every bundle has.
    slopes[0], constants[0] = 0.0, constants.max() + 5.0
    found = proximal_step(constants, slopes, length, 0.0, 1.0)
    assert found is not None
    step, weights = found
    assert (weights > 0).all()
    weights = weights / weights.sum()
    reached = (constants + slopes @ step).min() - step @ step / (2 * length)
    pull = slopes.T @ weights
    promised = constants @ weights + length * (pull @ pull) / 2
    assert reached <= promised + 1e-9 * abs(promised)
    assert reached >= promised - 1e-5 * max(abs(promised), 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_bundles_find_the_highest_point(seed: int) -> None:
    """Of the least of some planes, which an LP finds, asked for one plane at a time."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    slopes = np.concatenate((rng.integers(-3, 4, (40, size)), np.eye(size), -np.eye(size)))
    slopes = slopes.astype(np.int64)
    constants = np.concatenate((rng.integers(0, 60, 40), np.full(2 * size, 30))).astype(float)
    whole = linprog(
        np.append(np.zeros(size), -1.0),
        np.column_stack((-slopes, np.ones(len(slopes)))),
        constants,
        bounds=[(None, None)] * (size + 1),
    )

    def lowest(point: Floats) -> tuple[float, Cut]:
        values = constants + slopes @ point
        at = int(values.argmin())
        return float(values[at]), (float(constants[at]), slopes[at])

    upper = float(constants.max()) + 1.0
    bundle = Bundle(size, upper)
    bundle.begin(*lowest(np.zeros(size)))
    for _ in range(200):
        point = bundle.propose(lambda _: [])
        if point is None:
            break
        assert bundle.model(point) >= lowest(point)[0] - 1e-6
        value, cut = lowest(point)
        bundle.add(cut)
        bundle.take(point, value)
    assert bundle.value == pytest.approx(lowest(bundle.centre)[0])
    assert -whole.fun >= bundle.value - 1e-6
    assert bundle.value >= -whole.fun - 0.02 * (-whole.fun - lowest(np.zeros(size))[0]) - 1e-3
