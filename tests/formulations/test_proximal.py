"""Proximal steps: the Newton matrix and the best point, against dense solvers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from formulations.bounds.highs import Floats
from formulations.bounds.proximal import ENTRIES_UP_TO, Model, _Newton, proximal_step


def _random_model(rng: np.random.Generator, knots: int, block: int, owners: int) -> Model:
    """Return a model of the master's form: starts touch two knots, patterns one and its worth."""
    points = knots * block
    rows, base, owner = [], [], []
    for i in range(owners):
        for _ in range(4):
            row = np.zeros(points)
            k = rng.integers(0, knots - 1)
            for at in (k, k + 1):
                row[at * block : (at + 1) * block - 1] = rng.random(block - 1)
            rows.append(row)
            base.append(float(rng.integers(1, 20)))
            owner.append(i)
        # A start past the priced times.
        rows.append(np.zeros(points))
        base.append(25.0)
        owner.append(i)
    for each in range(knots):
        for _ in range(3):
            row = np.zeros(points)
            row[each * block : (each + 1) * block - 1] = -rng.random(block - 1)
            row[(each + 1) * block - 1] = 1.0
            rows.append(row)
            base.append(0.0)
            owner.append(-1)
    worth = np.zeros(points)
    worth[block - 1 :: block] = 1 + rng.random(knots)
    sizes = rng.integers(1, 4, owners).astype(float)
    return Model(sp.csr_matrix(np.array(rows)), np.array(base), np.array(owner), sizes, worth)


@pytest.mark.parametrize(("knots", "block", "owners"), [(3, 4, 2), (30, 9, 5), (9, 40, 3)])
def test_newton_steps_solve_the_whole_matrix(knots: int, block: int, owners: int) -> None:
    """Panels and border give what a dense solver does, with one panel and with many."""
    rng = np.random.default_rng(knots)
    model = _random_model(rng, knots, block, owners)
    columns, points = model.columns.toarray(), model.columns.shape[1]
    pull, ratio, at_points = rng.random(points), rng.random(len(columns)), rng.random(points)
    choice = np.array([[float(i == each) for i in range(owners)] for each in model.owner])
    whole = np.block(
        [
            [np.diag(pull + at_points), np.zeros((points, owners))],
            [np.zeros((owners, points + owners))],
        ]
    )
    joined = np.hstack([columns, -choice])
    whole += joined.T @ np.diag(ratio) @ joined
    right, right_of_owners = rng.random(points), rng.random(owners)
    expected = np.linalg.solve(whole, np.concatenate((right, right_of_owners)))
    found = np.concatenate(_Newton(model, pull, ratio, at_points).step(right, right_of_owners))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def _value(model: Model, point: Floats) -> float:
    """Return the model at prices, every knot worth what its best pattern pays; by loops."""
    paid = model.columns @ point
    block = int(np.flatnonzero(model.worth)[0]) + 1
    total = 0.0
    for i, size in enumerate(model.sizes):
        total += size * min((model.base + paid)[model.owner == i])
    for k, at in enumerate(range(block - 1, len(point), block)):
        own = [c for c in np.flatnonzero(model.owner < 0) if model.columns[c, at]]
        best = max(0.0, *(-(paid[c] - point[at]) for c in own))
        total -= model.worth[at] * best
        assert len(own) == 3, k
    return total


@pytest.mark.parametrize("seed", range(8))
def test_proximal_steps_against_the_whole_program(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the end and with hardly any pull the LP's optimum is met; with it no point is better."""
    monkeypatch.setattr("formulations.bounds.proximal.MISSING", 1e-6)
    rng = np.random.default_rng(seed)
    model = _random_model(rng, 4, 5, 3)
    points, owners = len(model.worth), len(model.sizes)
    choice = np.array([[float(i == each) for i in range(owners)] for each in model.owner])
    whole = linprog(
        np.concatenate((model.worth, -model.sizes)),
        np.hstack([-model.columns.toarray(), choice]),
        model.base,
        bounds=[(0, None)] * points + [(None, None)] * owners,
    )
    begin = np.full(points, 0.1)
    begin[4::5] = 2.0
    centre = np.where(begin < 1, 0.1, 0.0)
    value = _value(model, centre)
    for pull in (1e-9, 0.5):
        pulls = np.where(model.worth > 0, 0.0, pull)
        found = proximal_step(model, pulls, centre, begin, 0.01, value, lambda _: False)
        assert found is not None
        point, weights = found
        assert point.min() > 0
        assert weights.min() > 0
        assert model.sums(weights) == pytest.approx(model.sizes, rel=0.05)

        def gain(at: Floats, pulls: Floats = pulls) -> float:
            return _value(model, at) - value - 0.5 * float(pulls @ (at - centre) ** 2)

        here = gain(point)
        assert _value(model, point) <= -whole.fun + 1e-6
        if pull < 1e-6:
            assert here >= 0.999 * (-whole.fun - value)
        for _ in range(60):
            there = np.abs(point + rng.normal(0, rng.choice([0.01, 0.1, 1.0]), points))
            assert gain(there) <= here + 1e-3 * abs(here) + 1e-6


def test_a_step_that_is_late_or_too_large_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there are no prices; 50 million entries are 400 MB."""
    rng = np.random.default_rng(1)
    model = _random_model(rng, 4, 5, 3)
    begin = np.where(model.worth > 0, 2.0, 0.1)
    pull = np.where(model.worth > 0, 0.0, 1.0)
    assert proximal_step(model, pull, begin, begin, 0.01, 0.0, lambda _: True) is None
    assert proximal_step(model, pull, begin, begin, 0.01, 0.0, lambda more: more > 1) is not None
    assert ENTRIES_UP_TO * 8 < 5e8
    monkeypatch.setattr("formulations.bounds.proximal.ENTRIES_UP_TO", 100)
    assert proximal_step(model, pull, begin, begin, 0.01, 0.0, lambda _: False) is None
