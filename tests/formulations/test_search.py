"""Our own search against brute force: every rule alone and all together, whatever the prices."""

from __future__ import annotations

import math
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.bounds.patterns import Options as BoundOptions
from formulations.bounds.patterns import PatternPricing
from formulations.dp import layers
from formulations.dp._backward_tables import Network, network
from formulations.dp.layers import Options, Pass, search
from formulations.lagrangian.starts import start_costs
from formulations.lagrangian.states import PriceTable
from formulations.valid.states import running_states
from formulations.valid.windows import start_windows
from instances import Instance, Request
from instances.families import am1
from kvopt.engines.job import tel_of
from schedules import check_schedule, make_schedule
from tests.formulations.forward import pass_of
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instances
from tests.tiers import a_few

TINY = sorted((Path(__file__).parents[2] / "instances" / "tiny").glob("*.json"))
SMALL = instances(max_requests=5, max_memory=12, max_arrival=6, max_output=7)
CROWDED = instances(max_requests=5, max_memory=10, max_arrival=0)
RULES = [Options(dominance, equal) for dominance, equal in product((False, True), repeat=2)]


def _search(
    instance: Instance,
    options: Options,
    prices: list[float],
    width: int = 50_000,
    patterns: Network | None = None,
) -> Pass:
    costs = start_costs(instance, prices, [], [])
    return pass_of(instance, width, costs, options=options, patterns=patterns)


def _pattern_prices(instance: Instance, numerators: list[int]) -> Network:
    """Return prices on states: these numbers, in turn, at the points of a grid."""
    grid = np.array([0, 4, 9, 20])
    knots = np.array([1, 5, 14, 18])
    values = np.resize(np.array(numerators, dtype=np.int64), (len(knots), len(grid), len(grid)))
    return network(instance, PriceTable(knots, grid, grid, values, 64))


@pytest.mark.parametrize("options", RULES, ids=str)
@given(
    instance=st.one_of(SMALL, CROWDED),
    prices=st.lists(st.floats(0, 0.4), max_size=16),
)
@settings(max_examples=60, deadline=None)
def test_search_equals_brute_force(
    options: Options, instance: Instance, prices: list[float]
) -> None:
    """Every subset of the rules keeps the optimum, under any prices."""
    found = _search(instance, options, prices)
    optimum = brute_force_optimum(instance)
    assert (found.tel, found.bound, found.complete) == (optimum, optimum, True)
    schedule = make_schedule(instance, found.starts, "search")
    assert check_schedule(instance, schedule).valid
    assert schedule.tel == optimum


@given(
    instance=st.one_of(SMALL, CROWDED),
    width=st.integers(1, 4),
    prices=st.lists(st.floats(0, 0.4), max_size=16),
)
@settings(max_examples=200, deadline=None)
def test_a_narrow_pass_still_bounds(instance: Instance, width: int, prices: list[float]) -> None:
    """With states lost the bound is still a bound, and ``complete`` only where it is the TEL."""
    found = _search(instance, Options(), prices, width)
    assert found.bound <= brute_force_optimum(instance) <= found.tel
    assert found.complete == (found.bound == found.tel)


def test_no_pass_is_wider_than_memory_allows() -> None:
    """The same layers as with that width; none where not even one state fits."""
    instance = am1.generate(seed=5, n=12, memory=20)
    narrow = pass_of(instance, 10**9, memory_bytes=3e4)
    assert 1 < narrow.width < 1_000
    assert not narrow.complete
    assert pass_of(instance, narrow.width, memory_bytes=1e9) == narrow
    costs, starts = start_costs(instance, [], [], []), [1000 * i for i in range(12)]
    windows, tel = start_windows(instance), tel_of(instance, starts)
    assert search(instance, windows, costs, (tel, starts), 10**9, memory_bytes=1.0) is None


def test_states_are_the_same_however_often_the_clock_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where layers are full in between."""
    instance = am1.generate(seed=5, n=12, memory=20)
    for width in (40, 100_000):
        monkeypatch.setattr(layers, "AT_ONCE", 10**9)
        whole = pass_of(instance, width, memory_bytes=1e9)
        for states in (1, 7):
            monkeypatch.setattr(layers, "AT_ONCE", states)
            assert pass_of(instance, width, memory_bytes=1e9) == whole


@given(
    instance=st.one_of(SMALL, CROWDED),
    width=st.sampled_from((1, 3, 50_000)),
    numerators=st.lists(st.integers(0, 60), min_size=1, max_size=64),
    prices=st.lists(st.floats(0, 0.4), max_size=16),
)
@settings(max_examples=300, deadline=None)
def test_prices_on_patterns_keep_the_optimum(
    instance: Instance, width: int, numerators: list[int], prices: list[float]
) -> None:
    """Whatever states are priced at, the bound is one, and a wide pass finds the optimum."""
    found = _search(instance, Options(), prices, width, _pattern_prices(instance, numerators))
    optimum = brute_force_optimum(instance)
    assert found.bound <= optimum <= found.tel
    if width > 3:
        assert (found.tel, found.bound, found.complete) == (optimum, optimum, True)


@pytest.mark.parametrize("seed", a_few(range(10), 4))
def test_good_prices_on_patterns_keep_the_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With prices that steps find narrow passes bound, wide ones find the optimum sooner.

    The reference is the search without them.  These prices are sharp enough that a round too many
    in what is paid, or one too few in what patterns are worth, shows.
    """
    # Else when states are compared depends on how many they are.
    monkeypatch.setattr(layers, "GROWN", 0.0)
    instance = am1.generate(seed=seed, n=7, memory=32)
    pricing = PatternPricing(
        instance,
        running_states(instance),
        deadline=math.inf,
        options=BoundOptions(knots=12, points=10),
    )
    patterns = network(instance, pricing.improve(time.monotonic() + 60.0).table)
    plain = pass_of(instance, 1_000_000)
    assert plain.complete
    assert 0 < patterns.bound <= plain.tel
    for width in (1, 5, 40, 300):
        found = pass_of(instance, width, patterns=patterns)
        assert found.bound <= plain.tel <= found.tel
    found = pass_of(instance, 1_000_000, patterns=patterns)
    assert (found.tel, found.bound, found.complete) == (plain.tel, plain.tel, True)
    assert found.states <= plain.states


def test_too_many_requests_are_refused() -> None:
    """A set of requests is one 64-bit word."""
    instance = Instance("many", 5, tuple(Request(i, 0, 0, 1) for i in range(64)))
    with pytest.raises(ValueError, match="at most 63 requests, found 64"):
        _search(instance, Options(), [])


@pytest.mark.parametrize("width", [0, -1])
def test_a_width_that_keeps_no_state_is_refused(width: int) -> None:
    """Such a pass loses states without noting their bounds, and 4 would count as the optimum.

    One request of one token runs at a time, so the optimum ends at 1 and 2: a TEL of 3.
    """
    instance = Instance("two", 1, (Request(0, 0, 0, 1), Request(1, 0, 0, 1)))
    costs = start_costs(instance, [], [], [])
    with pytest.raises(ValueError, match=f"a width of at least 1, found {width}"):
        search(instance, start_windows(instance, 4), costs, (4, [0, 2]), width)


@pytest.mark.parametrize("tel", a_few((7 * 10**13, 8_388_613, 1 << 40), 1))
def test_far_incumbents_do_not_overflow(tel: int) -> None:
    """Without prices the bound is the optimum 21, however bad the known schedule is.

    (0, 0, 5) thrice, M = 9: at time 5 the first holds 5 and the others 10 − p_2 − p_3 at most, so
    p_2 + p_3 ≥ 6: 15 + 6.  Scaled by 2⁴⁰ such TELs have more than 64 bits, and what stands for
    "nothing was lost" is a bound of 2⁶² / 2⁴⁰ only.
    """
    instance = Instance("three", 9, tuple(Request(i, 0, 0, 5) for i in range(3)))
    costs = start_costs(instance, [], [], [])
    found = search(instance, start_windows(instance), costs, (tel, [0, 5, tel - 20]), 300)
    assert found is not None
    assert (found.tel, found.bound, found.complete) == (21, 21, True)
    # The known schedule is optimal: all states are dropped, none is lost, and the bound is its TEL.
    alone = Instance("one", 9, (Request(0, 0, 0, 5),))
    costs = start_costs(alone, [], [], [])
    found = search(alone, start_windows(alone), costs, (5, [0]), 300)
    assert found is not None
    assert (found.tel, found.bound, found.complete) == (5, 5, True)
