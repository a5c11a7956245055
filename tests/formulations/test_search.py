"""Our own search against brute force: every rule alone and all together, whatever the prices."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.bounds.clique_prices import start_costs
from formulations.groups import window_groups
from formulations.search.layers import Options, Pass, search
from formulations.windows import start_windows
from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request, read_instance
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instances

TINY = sorted((Path(__file__).parents[2] / "instances" / "tiny").glob("*.json"))
SMALL = instances(max_requests=5, max_memory=12, max_arrival=6, max_output=7)
CROWDED = instances(max_requests=5, max_memory=10, max_arrival=0)
RULES = [
    Options(dominance, shift, merge, equal)
    for dominance, shift, merge, equal in product((False, True), repeat=4)
]


def _search(
    instance: Instance,
    options: Options,
    prices: list[float],
    group_price: float,
    widths: tuple[int, ...] = (50_000,),
) -> Pass:
    groups = window_groups(instance)
    costs = start_costs(instance, prices, groups, [[group_price] * 12] * len(groups))
    known = run_policy(policies()["fcfs"], instance)
    passes: list[Pass] = []
    search(
        instance,
        start_windows(instance, known.tel),
        groups,
        costs,
        (known.tel, list(known.starts)),
        passes.append,
        options=options,
        widths=widths,
    )
    return passes[-1]


@pytest.mark.parametrize("options", RULES, ids=str)
@given(
    instance=st.one_of(SMALL, CROWDED),
    prices=st.lists(st.floats(0, 0.4), max_size=16),
    group_price=st.floats(0, 0.5),
)
@settings(max_examples=60, deadline=None)
def test_search_equals_brute_force(
    options: Options, instance: Instance, prices: list[float], group_price: float
) -> None:
    """Every subset of the four rules keeps the optimum, under any prices."""
    found = _search(instance, options, prices, group_price)
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
    found = _search(instance, Options(), prices, 0.1, (width,))
    assert found.bound <= brute_force_optimum(instance) <= found.tel
    assert found.complete == (found.bound == found.tel)


@pytest.mark.parametrize("path", TINY, ids=lambda path: path.stem)
def test_tiny_instances(path: Path) -> None:
    """Every committed tiny instance is solved to the brute-force optimum."""
    instance = read_instance(path)
    found = _search(instance, Options(), [0.05] * 20, 0.1)
    optimum = brute_force_optimum(instance)
    assert (found.tel, found.bound) == (optimum, optimum)


def test_too_many_requests_are_refused() -> None:
    """A set of requests is one 64-bit word."""
    instance = Instance("many", 5, tuple(Request(i, 0, 0, 1) for i in range(64)))
    with pytest.raises(ValueError, match="at most 63 requests, found 64"):
        _search(instance, Options(), [], 0.0)
