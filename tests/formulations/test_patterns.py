"""Patterns of running requests and prices on them: against schedules, multisets, brute force."""

import math
import time
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.bounds import lp, patterns
from formulations.bounds.bound_result import BoundResult, SilentReporter
from formulations.bounds.highs_lp import Floats
from formulations.bounds.patterns import LEVELS, PatternOptions, PatternPricing, compute_bound
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate, sweep_certificate
from formulations.lagrangian.price_bound import certify_prices
from formulations.lagrangian.price_kernels import most_worth
from formulations.lagrangian.state_prices import Grids, StatePrices, evaluate_table
from formulations.valid.running_states import running_states
from instances import Instance, Request
from instances.families import am1, am2
from tests.engine_batch import solve_batch
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import crowd, instance_of, instances, scheduled
from tests.oracles.patterns import is_pattern
from tests.tiers import in_two

SMALL = instances(max_requests=4, max_memory=10, max_arrival=6, max_output=6)


@given(drawn=scheduled(SMALL, 16))
@settings(max_examples=200, deadline=None)
def test_what_runs_at_one_time_is_a_pattern(drawn: tuple[Instance, list[int]]) -> None:
    """At every time of a feasible schedule, optimal or not, the states form a pattern."""
    instance, starts = drawn
    for now in range(1, max(starts) + 7):
        running = [
            (request.prompt + now - start, start + request.output - now)
            for request, start in zip(instance.requests, starts, strict=True)
            if start < now <= start + request.output
        ]
        assert is_pattern(running, instance.memory)


@given(instance=instances(max_requests=3, max_memory=9, max_arrival=0), data=st.data())
@settings(max_examples=150, deadline=None)
def test_no_multiset_is_worth_more_than_the_best_pattern(
    instance: Instance, data: st.DataObject
) -> None:
    """The best pattern is worth what the best of all multisets of states is."""
    states = running_states(instance)
    values = data.draw(st.lists(st.integers(0, 9), min_size=len(states), max_size=len(states)))
    found = most_worth(states.tokens, states.left, np.array(values), instance.memory, states.most)
    pairs = list(zip(states.tokens.tolist(), states.left.tolist(), strict=True))

    def best(first: int, chosen: list[int]) -> int:
        """Return the most of what contains the chosen ones, and else states from the first on."""
        longer = [best(k, [*chosen, k]) for k in range(first, len(pairs)) if fits(k, chosen)]
        return max([sum(values[k] for k in chosen), *longer])

    def fits(k: int, chosen: list[int]) -> bool:
        # Without a price a state adds nothing.
        return values[k] > 0 and is_pattern([pairs[i] for i in (*chosen, k)], instance.memory)

    assert found == best(0, [])


@st.composite
def _tables(draw: st.DrawFn, instance: Instance) -> StatePrices:
    """Draw prices on a drawn grid of states and times."""
    peak = max(request.peak for request in instance.requests)
    output = max(request.output for request in instance.requests)
    inner = st.sets(st.integers(1, 30), max_size=3)
    first = draw(st.integers(1, 6))
    knots = sorted(
        {first, draw(st.integers(first + 1, 30))} | {t for t in draw(inner) if t > first}
    )
    tokens = sorted({0, peak} | {t for t in draw(inner) if t < peak})
    left = sorted({0, max(output - 1, 1)} | {t for t in draw(inner) if t < output - 1})
    size = len(knots) * len(tokens) * len(left)
    numerators = draw(st.lists(st.integers(0, 40), min_size=size, max_size=size))
    table = np.array(numerators).reshape(len(knots), len(tokens), len(left))
    points = np.array(knots), np.array(tokens), np.array(left)
    return StatePrices(*points, table, draw(st.integers(1, 20)))


@given(instance=SMALL, lookahead=st.booleans(), data=st.data())
@settings(max_examples=300, deadline=None)
def test_any_prices_on_states_certify(
    instance: Instance, lookahead: bool, data: st.DataObject
) -> None:
    """The bound is no more than the optimum; one that looks ahead a sweep proves at once."""
    table = data.draw(_tables(instance))
    states = running_states(instance, lookahead=lookahead)
    bound = evaluate_table(instance, states, table).bound
    assert bound <= brute_force_optimum(instance)
    if lookahead and bound > 0:
        document = sweep_certificate(bound, table)
        assert evaluate_certificate(instance, read_certificate(document)) == bound


def test_prices_on_states_by_hand() -> None:
    """Two requests (0, 2), M = 3, price 1 on every state at times 1 and 2, nothing later.

    States are (1, 1) and (2, 0).  Two of (1, 1) would hold 4 one round later, (1, 1) and (2, 0)
    hold 3 now and 2 later: so two can run at a time, h = 2.  A start at 0 pays for two times, one
    at 1 for one, one at 2 for none: 2 + 2, 1 + 2 + 1 and 2 + 2 rounds.  The bound is
    2·4 − (2 + 2) = 4, the volumes' 2 + 2.  With price 1 on (1, 1) alone, h = 1: starts at 0 and 1
    pay 1, so 2·3 − 2 = 4 again.
    """
    instance = instance_of(3, (0, 0, 2), (0, 0, 2))
    states = running_states(instance)
    points = np.array([1, 2]), np.array([1, 2]), np.array([0, 1])
    for prices in ([1, 1, 1, 1], [0, 1, 0, 0]):
        table = StatePrices(*points, np.array([prices, prices]).reshape(2, 2, 2), 1)
        assert evaluate_table(instance, states, table).bound == 4


def test_prices_before_the_first_knot_are_0() -> None:
    """Two requests (0, 1, 3), M = 4, price 1 on every state at time 4 and 0 at time 5: bound 5.

    The states (2, 2), (3, 1), (4, 0) exclude each other, so h = 1 at time 4.  A start at 0 is over
    by time 3 and pays nothing: 3 + 3 − 1 = 5, and OPT = 3 + 6 = 9.  Were the prices drawn out to
    4, 3, 2 at the times 1..3, starts at 0..4 would cost 12, 10, 8, 7, 7 and the bound be 13.
    """
    instance = instance_of(4, (0, 1, 3), (0, 1, 3))
    states = running_states(instance)
    points = np.array([4, 5]), np.array([2, 4]), np.array([0, 2])
    table = StatePrices(*points, np.array([[[1, 1]] * 2, [[0, 0]] * 2]), 1)
    assert evaluate_table(instance, states, table).bound == 5
    assert evaluate_certificate(instance, read_certificate(sweep_certificate(5, table))) == 5


def test_growth_is_priced() -> None:
    """Ten requests (0, 4), M = 5: the second must start 3 rounds after the first, memory says 2.

    Together they hold 4 and 4 − d tokens when the first completes, so d ≥ 3 and OPT is
    Σ (4 + 3k) = 40 + 135 = 175.  By volume 10 token-rounds take 2 rounds, about 130 together.
    """
    instance = instance_of(5, *[(0, 0, 4)] * 10)
    names = ("bound-patterns", "bound-patterns(lookahead=no)", "bound-dual")
    full, now, memory = solve_batch([(instance, name) for name in names], seconds=20)
    assert max(memory.bound, now.bound) < full.bound <= 175
    assert full.bound >= 170


DRAWS = [
    *(am1.generate(seed=seed, n=5, memory=12 + seed % 5) for seed in range(3)),
    *(am2.generate(seed=seed, n=5, memory=12) for seed in range(2)),
    *(crowd(seed) for seed in range(12)),
    # Eight of a kind: prices on tokens come first.
    *(
        instance_of(memory, *[(a, s, o)] * 8)
        for memory, a, s, o in ((7, 0, 1, 2), (9, 3, 0, 3), (11, 0, 4, 2), (5, 1, 2, 1))
    ),
]


@pytest.mark.parametrize("drawn", in_two(DRAWS, 6))
@pytest.mark.parametrize("name", ["bound-patterns", "bound-patterns(lookahead=no,knots=5)"])
def test_the_bound_is_no_more_than_the_optimum(name: str, drawn: list[Instance]) -> None:
    """On draws of every kind, equal requests, gaps and peaks of M included."""
    answers = solve_batch([(instance, name) for instance in drawn], seconds=8)
    for instance, answer in zip(drawn, answers, strict=True):
        assert answer.bound <= brute_force_optimum(instance), instance


class _Told(SilentReporter):
    """Keeps what is told of bounds."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def bound(self, value: int, source: str) -> None:
        """Keep where it comes from."""
        assert value > 0
        self.sources.append(source)


@pytest.mark.parametrize(("n", "first"), [(8, True), (7, False)])
def test_among_equals_prices_on_tokens_come_first(
    monkeypatch: pytest.MonkeyPatch, n: int, first: bool
) -> None:
    """Without time for anything else their bound is what is left, else those on states are more.

    Requests (0, 4) with M = 5: OPT is Σ (4 + 3k), as in ``test_growth_is_priced``.
    """
    instance = instance_of(5, *[(0, 0, 4)] * n)
    prices = certify_prices(instance, np.linspace(3, 0, 17).tolist())
    kept = BoundResult(prices.value, prices, None, None)
    monkeypatch.setattr(lp, "compute_bound", lambda *_, **__: kept)
    for seconds in (0, 10):
        told = _Told()
        bound = patterns.compute_bound(instance, deadline=time.monotonic() + seconds, report=told)
        assert ("prices" in told.sources[:1]) is first
        assert (bound.prices is prices) is first
        assert bound.value <= sum(4 + 3 * k for k in range(n))
        if first:
            assert bound.value >= prices.value
    assert bound.table is not None


def test_long_horizons_have_no_prices_on_tokens_first() -> None:
    """Of ten million rounds the rows alone would take longer than many a limit."""
    instance = instance_of(9, *[(10**7, 1, 3)] * 12)
    assert patterns.prices_among_equals(instance, 60.0, None, None, 1) is None


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
    states, few = running_states(instance), PatternOptions(knots=6, points=5)
    pricing = PatternPricing(instance, states, deadline=math.inf, threads=threads, options=few)
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
    limits = [0.0] * rows.shape[0] + [-1.0] * len(instance) + [1.0] * horizon
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
    fine, end = PatternOptions(knots=60, points=60), time.monotonic() + 20
    found = compute_bound(instance, deadline=end, report=SilentReporter(), options=fine)
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


def test_a_deadline_that_is_over_leaves_the_fluid_limit() -> None:
    """One first point is tried whatever the time: without it the outputs alone would be left."""
    instance = am1.generate(seed=5, n=20)
    states = running_states(instance)
    pricing = PatternPricing(instance, states, deadline=-math.inf)
    assert pricing.improve(-math.inf).bound > 1.2 * instance.outputs.sum()
    assert pricing.expected_starts is None
