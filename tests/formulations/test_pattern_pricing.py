"""Prices of patterns: value and slope by brute force, and how far the steps come."""

from __future__ import annotations

import math
import time
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.bounds.fluid import fluid_prices
from formulations.bounds.highs import Floats
from formulations.bounds.outcome import SilentReporter
from formulations.bounds.patterns import LEVELS, Options, PatternPricing, compute_bound
from formulations.bounds.pricing import request_classes
from formulations.lagrangian.states import Grids
from formulations.valid.states import running_states
from instances import Instance, Request
from instances.families import am1
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instances
from tests.oracles.patterns import is_pattern
from tests.tiers import a_few


def _pricing(instance: Instance, **given: Any) -> PatternPricing:
    states = running_states(instance)
    return PatternPricing(instance, states, deadline=math.inf, **given)


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


def _patterns(instance: Instance) -> list[tuple[tuple[int, int], ...]]:
    """Return all patterns, as multisets of states, one without any among them."""
    states = running_states(instance)
    pairs = list(zip(states.tokens.tolist(), states.left.tolist(), strict=True))
    most = instance.memory // min(w for w, _ in pairs)
    return [
        chosen
        for size in range(most + 1)
        for chosen in combinations_with_replacement(pairs, size)
        if is_pattern(list(chosen), instance.memory)
    ]


@given(
    instance=instances(max_requests=3, max_memory=7, max_arrival=3, max_output=4),
    threads=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_the_value_at_a_point_is_that_of_all_starts_and_patterns(
    instance: Instance, threads: int, seed: int
) -> None:
    """Whatever the prices, in floating point; and what is kept of it is exact, so no more."""
    pricing = _pricing(instance, threads=threads, options=Options(knots=6, points=5))
    grids, rng = pricing._grids, np.random.default_rng(seed)
    point = rng.random((len(grids.knots), grids.shape[1] * grids.shape[2])) * (seed % 3)
    table = point.reshape(grids.shape)
    last, total = int(grids.knots[-1]), 0.0
    for request in instance.requests:
        a, s, o = int(request.arrival), request.prompt, request.output
        total += min(
            p + o - a + sum(_price(grids, table, p + j, s + j, o - j) for j in range(1, o + 1))
            for p in range(a, max(last, a) + 1)
        )
    patterns = _patterns(instance)
    worths = {
        t: max(sum(_price(grids, table, t, w, r) for w, r in each) for each in patterns)
        for t in grids.knots.tolist()
    }
    times = np.arange(int(grids.knots[0]), last + 1)
    total -= float(np.interp(times, grids.knots, list(worths.values())).sum())
    found, _ = pricing._lagrangian(np.ascontiguousarray((pricing._shares @ point.T).T))
    assert found == pytest.approx(total, rel=1e-9, abs=1e-6)
    assert pricing._evaluate(point).value == pytest.approx(total, rel=1e-4, abs=1e-2)


@pytest.mark.parametrize("seed", a_few(range(12), 4))
def test_a_slope_is_a_supergradient(seed: int) -> None:
    """No value anywhere is above the tangent at a point, since the Lagrangian is concave."""
    instance, rng = am1.generate(seed=seed, n=6, memory=14), np.random.default_rng(seed)
    pricing = _pricing(instance, options=Options(knots=8, points=6))

    def at(point: Floats) -> tuple[float, Floats]:
        value, use = pricing._lagrangian(np.ascontiguousarray((pricing._shares @ point.T).T))
        return value, (pricing._shares.T @ use.T).T

    points = [rng.random(pricing._unit.shape) * scale for scale in (0.0, 0.1, 1.0, 5.0)]
    for here in points:
        value, slope = at(here)
        for there in points:
            assert at(there)[0] <= value + float((slope * (there - here)).sum()) + 1e-6


def _exact_pattern_lp(instance: Instance, horizon: int) -> float:
    """Return the LP over all starts and all patterns at every time, by enumeration."""
    states = running_states(instance)
    pairs = list(zip(states.tokens.tolist(), states.left.tolist(), strict=True))
    patterns = [tuple(map(pairs.index, chosen)) for chosen in _patterns(instance) if chosen]
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
        options=Options(knots=60, points=60),
    )
    assert found.value <= np.ceil(expected - 1e-6)
    assert found.value >= np.ceil(expected - 1e-6) - 1
    assert found.value <= brute_force_optimum(instance)


def test_pricing_goes_on_where_a_deadline_stopped_it() -> None:
    """From grid to grid, never to worse prices, until its steps are over."""
    instance = am1.generate(seed=77, n=12)
    pricing = PatternPricing(instance, running_states(instance), deadline=math.inf)
    values = [pricing.improve(time.monotonic()).value]
    assert not pricing.finished
    levels = []
    while not pricing.finished:
        levels.append(pricing._level)
        values.append(pricing.improve(time.monotonic() + 0.2).value)
    assert values == sorted(values)
    assert values[-1] > values[0]
    assert levels[-1] == len(LEVELS) - 1
    table = pricing.improve(time.monotonic() + 5.0).table
    assert all(points <= most for points, most in zip(table.shape, (41, 21, 21), strict=True))


def test_prices_that_are_given_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the first point where they are better than what is tried otherwise."""
    monkeypatch.setattr("formulations.bounds.patterns.SPREAD", ())
    instance = am1.generate(seed=1, n=8, memory=14)
    fluid = fluid_prices(instance, request_classes(instance), 200)
    nothing, followed = _pricing(instance), _pricing(instance, followed=np.append(fluid, 0.0))
    assert followed._value > nothing._value


def test_a_deadline_that_is_over_leaves_the_fluid_limit() -> None:
    """One first point is tried whatever the time: without it the outputs alone would be left."""
    instance = am1.generate(seed=5, n=20)
    states = running_states(instance)
    pricing = PatternPricing(instance, states, deadline=-math.inf)
    assert pricing.improve(-math.inf).bound > 1.2 * instance.outputs.sum()
    assert pricing.expected_starts is None
