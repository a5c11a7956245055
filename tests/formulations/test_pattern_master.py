"""The master over patterns: its columns, its Newton steps and its next prices, by brute force."""

from __future__ import annotations

import time
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.bounds.highs import Floats
from formulations.bounds.memory_master import request_classes
from formulations.bounds.outcome import SilentReporter
from formulations.bounds.pattern_master import PatternMaster
from formulations.bounds.patterns import Options, PatternPricing, compute_bound
from formulations.bounds.proximal import ENTRIES_UP_TO, Model, _Newton, proximal_step
from formulations.lagrangian.states import Grids
from formulations.valid.states import running_states
from formulations.valid.windows import start_windows
from instances import Instance, Request
from instances.families import am1
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instances
from tests.oracles.patterns import is_pattern

KNOTS = np.array([1, 3, 4, 9, 20])


def _master(instance: Instance, tokens: int, left: int) -> PatternMaster:
    """Return a master on a grid with so many spans, without columns."""
    states = running_states(instance)
    ends = int(states.tokens.max()), max(int(states.left.max()), 1)
    made = (
        np.unique(np.rint(np.linspace(0, end, spans + 1)).astype(np.int64))
        for end, spans in zip(ends, (tokens, left), strict=True)
    )
    classes = request_classes(instance)
    return PatternMaster(instance, states, Grids(KNOTS, *made), classes, np.ones(len(KNOTS)))


def _price(grids: Grids, prices: Floats, t: int, w: int, r: int) -> float:
    """Return the price at time t of state (w, r) by linear interpolation, one axis at a time."""
    if not grids.knots[0] <= t <= grids.knots[-1]:
        return 0.0
    at_time = [
        [np.interp(t, grids.knots, prices[:, a, c]) for c in range(len(grids.left))]
        for a in range(len(grids.tokens))
    ]
    at_left = [np.interp(r, grids.left, row) for row in at_time]
    return float(np.interp(w, grids.tokens, at_left))


@given(
    instance=instances(max_requests=4, max_memory=12, max_arrival=5, max_output=6), data=st.data()
)
@settings(max_examples=30, deadline=None)
def test_columns_say_what_starts_and_patterns_pay(instance: Instance, data: st.DataObject) -> None:
    """At any prices on any grid, and again on a finer one; equal requests share their columns."""
    master = _master(instance, 2, 2)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    classes, states = request_classes(instance), running_states(instance)
    owners = rng.integers(0, len(classes), 12)
    starts = rng.integers(0, 22, 12)
    assert master.add_starts(owners.tolist(), starts.tolist()) == len(
        set(zip(owners.tolist(), starts.tolist(), strict=True))
    )
    assert master.add_starts(owners.tolist(), starts.tolist()) == 0
    patterns = [rng.integers(0, len(states), rng.integers(1, 4)) for _ in range(6)]
    master.add_patterns(rng.integers(0, len(KNOTS), 6).tolist(), patterns)
    for _ in range(2):
        prices = rng.random(master.grids.shape)
        model = master.model()
        paid = model.columns @ master.point(prices)
        for owner, start, found in zip(master.owners, master.starts, paid, strict=False):
            request = instance.requests[int(master.firsts[owner])]
            ages = range(1, request.output + 1)
            expected = sum(
                _price(master.grids, prices, start + j, request.prompt + j, request.output - j)
                for j in ages
            )
            assert found == pytest.approx(expected)
        count = len(master.starts)
        assert model.owner.tolist() == [*master.owners.tolist(), *[-1] * (len(paid) - count)]
        seen = set()
        for each, knot in enumerate(master.knots):
            worths = np.zeros(model.columns.shape[1])
            worths[model.worth > 0] = np.arange(1, len(KNOTS) + 1)
            # The worth of the knot counts once, at its own point.
            row = model.columns[count + each] @ worths
            assert row[0] == knot + 1
            seen.add(round(float(paid[count + each]), 9))
        allowed = {
            round(
                -sum(
                    _price(master.grids, prices, t, int(states.tokens[q]), int(states.left[q]))
                    for q in pattern
                ),
                9,
            )
            for pattern in patterns
            for t in KNOTS.tolist()
        }
        assert seen <= allowed
        finer = _master(instance, 5, 3).grids
        master.refine(finer)


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


def test_dropped_columns_can_come_back() -> None:
    """What weighs stays, what is far from paying goes, and it is new when it is found again."""
    instance = am1.generate(seed=3, n=8, memory=14)
    master = _master(instance, 3, 3)
    pairs = [(c, p) for c in range(len(request_classes(instance))) for p in range(0, 60, 2)]
    master.add_starts(*zip(*pairs, strict=True))
    states = running_states(instance)
    one = [np.array([q]) for q in range(len(states))]
    for knot in range(len(KNOTS)):
        master.add_patterns([knot] * len(one), one)
    solution = master.solve(np.zeros(master.grids.shape), 30.0, 1.0, lambda _: False)
    assert solution is not None
    before = master.columns
    dropped = master.drop(solution, 1e-3)
    assert sum(master.columns) < 0.8 * sum(before)
    assert len(dropped.weights) == sum(master.columns)
    assert dropped.patterns == master.columns[1]
    assert dropped.split()[0].sum() >= 0.9 * solution.split()[0].sum()
    kept = set(zip(master.owners.tolist(), master.starts.tolist(), strict=True))
    assert master.add_starts(*zip(*pairs, strict=True)) == len(pairs) - len(kept)
    assert len(master.expected_starts(dropped.split()[0])) == len(instance)


def _exact_pattern_lp(instance: Instance, horizon: int) -> float:
    """Return the LP over all starts and all patterns at every time, by enumeration."""
    states = running_states(instance)
    pairs = list(zip(states.tokens.tolist(), states.left.tolist(), strict=True))
    most = instance.memory // min(w for w, _ in pairs)
    patterns = [
        chosen
        for size in range(1, most + 1)
        for chosen in combinations_with_replacement(range(len(pairs)), size)
        if is_pattern([pairs[q] for q in chosen], instance.memory)
    ]
    starts = [
        (i, p) for i, r in enumerate(instance.requests) for p in range(int(r.arrival), horizon)
    ]
    rows = sp.lil_matrix((horizon * len(pairs), len(starts) + horizon * len(patterns)))
    sums = sp.lil_matrix((len(instance) + horizon, rows.shape[1]))
    cost = np.zeros(rows.shape[1])
    for column, (i, p) in enumerate(starts):
        request = instance.requests[i]
        cost[column] = p + request.output - request.arrival
        sums[i, column] = -1
        for j in range(1, request.output + 1):
            if p + j <= horizon:
                q = pairs.index((request.prompt + j, request.output - j))
                rows[(p + j - 1) * len(pairs) + q, column] += 1
    column = len(starts)
    for t in range(horizon):
        for chosen in patterns:
            sums[len(instance) + t, column] = 1
            for q in chosen:
                rows[t * len(pairs) + q, column] -= 1
            column += 1
    limits = np.concatenate(
        (np.zeros(rows.shape[0]), np.full(len(instance), -1.0), np.ones(horizon))
    )
    found = linprog(cost, sp.vstack([rows, sums]).tocsr(), limits)
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize("seed", range(3))
def test_fine_grids_reach_the_exact_pattern_lp(seed: int) -> None:
    """With a knot at every time and a point at every state the bound is that of the whole LP."""
    rng = np.random.default_rng(seed)
    requests = tuple(
        Request(i, int(rng.integers(0, 3)), int(rng.integers(1, 3)), int(rng.integers(2, 4)))
        for i in range(5)
    )
    instance = Instance("small", 7, requests)
    horizon = 3 + sum(request.output for request in requests)
    expected = _exact_pattern_lp(instance, horizon)
    found = compute_bound(
        instance,
        deadline=time.monotonic() + 20,
        report=SilentReporter(),
        options=Options(knots=60, grids=8),
    )
    assert found.value <= np.ceil(expected - 1e-6)
    assert found.value >= np.ceil(expected - 1e-6) - 1
    assert found.value <= brute_force_optimum(instance)


@pytest.mark.slow("waits")
def test_pricing_goes_on_where_a_deadline_stopped_it() -> None:
    """A step that does not fit before a deadline ends no grid: the next deadline betters prices."""
    instance = am1.generate(seed=77, n=20)
    starts = np.cumsum(instance.outputs) - instance.outputs
    pricing = PatternPricing(
        instance,
        running_states(instance),
        deadline=time.monotonic() + 30,
        windows=start_windows(instance, int((starts + instance.outputs).sum())),
        known_starts=starts,
        memory=np.zeros(3),
        options=Options(knots=40, grids=6),
    )
    first = pricing.improve(time.monotonic() + 0.3).value
    assert not pricing.finished
    assert pricing.improve(time.monotonic() + 8.0).value > first
