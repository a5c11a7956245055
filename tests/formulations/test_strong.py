"""What strengthens formulations, alone: each cut, fixing and bound against brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.bounds.clique_lp import priced_windows
from formulations.lagrangian.starts import start_costs
from formulations.mip import ilp_sparse_with_cuts
from formulations.valid.differences import forbidden_differences
from formulations.valid.fixing import fixed_windows
from formulations.valid.groups import exclusive_groups, window_groups
from formulations.valid.windows import Windows, start_windows
from instances import Instance, Request
from instances.families import am1
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances, scheduled
from tests.oracles.prices import by_scipy

SMALL = instances(max_requests=5, max_memory=12, max_arrival=6, max_output=7)
#: Nearly all pairs and many triples of these exclude each other, so that groups are large.
CROWDED = instances(max_requests=5, max_memory=9, max_arrival=0)


def _feasible(instance: Instance, starts: list[int]) -> bool:
    return check_schedule(instance, make_schedule(instance, starts, "drawn")).valid


@given(drawn=scheduled(st.one_of(SMALL, CROWDED)))
@settings(max_examples=300, deadline=None)
def test_no_feasible_schedule_violates_a_window_group(drawn: tuple[Instance, list[int]]) -> None:
    """In every feasible schedule at most ``most`` windows of a group hold a round, below 0 too."""
    instance, starts = drawn
    for group in [*exclusive_groups(instance), *window_groups(instance, (2, 3, 4))]:
        rounds = Counter(
            time
            for member in group.members
            for time in range(
                starts[member.request] - member.before, starts[member.request] + member.after
            )
        )
        assert max(rounds.values(), default=0) <= group.most


def test_window_group_by_hand() -> None:
    """Three equal requests (0, 4), M = 9: β = ⌈(0 + 12 + 0 − 9)/2⌉ = 2, so at most 2 at a time.

    Starts 0, 0, 2: tokens 4 + 4 + 2 = 10 > 9 at time 4 would need a third window at round 1; the
    third may start 2 rounds later only with 4 + 4 + 2 = 10 > 9 tokens, which no row forbids; at 3
    rounds later 4 + 4 + 1 = 9 fits.
    """
    instance = Instance("three", 9, tuple(Request(i, 0, 0, 4) for i in range(3)))
    (group,) = window_groups(instance, (3,))
    assert group.most == 2
    assert {(member.before, member.after) for member in group.members} == {(0, 2)}


@given(
    instance=st.one_of(SMALL, CROWDED),
    prices=st.lists(st.floats(-0.2, 1.5), max_size=20),
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_any_memory_and_group_prices_certify(
    instance: Instance, prices: list[float], data: st.DataObject
) -> None:
    """Whatever the prices on memory and groups, the certified bound never exceeds the optimum."""
    groups = window_groups(instance, (2, 3))
    group_prices = [
        data.draw(st.lists(st.floats(-0.2, 3.0), min_size=1, max_size=20)) for _ in groups
    ]
    optimum = brute_force_optimum(instance)
    assert start_costs(instance, prices, groups, group_prices).bound <= optimum
    latest = start_windows(instance, optimum).latest
    assert start_costs(instance, prices, groups, group_prices, latest).bound <= optimum


def test_group_prices_that_are_no_numbers_are_refused() -> None:
    """NaN and prices too large for exact arithmetic are named."""
    instance = Instance("one", 5, (Request(0, 0, 1, 2),))
    with pytest.raises(ValueError, match="finite"):
        start_costs(instance, [float("nan")], [], [])
    with pytest.raises(OverflowError):
        start_costs(instance, [1e18, 1e18], [], [])


@given(
    drawn=scheduled(st.one_of(SMALL, CROWDED)),
    prices=st.lists(st.floats(0, 0.5), max_size=16),
    above=st.integers(0, 4),
    data=st.data(),
)
@settings(max_examples=200, deadline=None)
def test_fixing_keeps_every_better_schedule(
    drawn: tuple[Instance, list[int]], prices: list[float], above: int, data: st.DataObject
) -> None:
    """A schedule with TEL below the upper bound keeps its starts, whatever the prices."""
    instance, starts = drawn
    groups = window_groups(instance, (2, 3))
    group_prices = [data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=12)) for _ in groups]
    costs = start_costs(instance, prices, groups, group_prices)
    tel = make_schedule(instance, starts, "drawn").tel
    unlimited = start_windows(instance)
    windows = fixed_windows(instance, unlimited, costs.costs, costs.slack(tel + 1 + above))
    for i, start in enumerate(starts):
        if unlimited.earliest[i] <= start <= unlimited.latest[i]:
            assert windows.earliest[i] <= start <= windows.latest[i]


def test_fixing_removes_starts() -> None:
    """Two requests (0, 3), M = 3, U = 9 and no prices: starts up to 8 − 3 − 3 = 2 survive."""
    instance = Instance("two", 3, (Request(0, 0, 0, 3), Request(1, 0, 0, 3)))
    costs = start_costs(instance, np.zeros(30), [], [])
    windows = fixed_windows(instance, start_windows(instance), costs.costs, costs.slack(9))
    assert windows.latest == (2, 2)


@given(instance=instances(max_requests=2, max_memory=14, max_arrival=0))
@settings(max_examples=300, deadline=None)
def test_forbidden_differences_equal_the_checker(instance: Instance) -> None:
    """A difference is forbidden exactly where the checker refuses the two starts."""
    pair = (instance.requests[0], instance.requests[-1])
    both = instance_of(instance.memory, *((0, r.prompt, r.output) for r in pair))
    found = forbidden_differences(both.requests[0], both.requests[1], both.memory)
    assert len(found) <= 2
    for difference in range(-16, 17):
        starts = [max(0, -difference), max(0, difference)]
        forbidden = any(low <= difference <= high for low, high in found)
        assert forbidden != _feasible(both, starts)


@given(drawn=scheduled(st.one_of(SMALL, CROWDED), 12), rounds=st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_no_feasible_schedule_violates_the_lookahead(
    drawn: tuple[Instance, list[int]], rounds: int
) -> None:
    """Every feasible schedule, optimal or not, satisfies every growth look-ahead row."""
    instance, starts = drawn
    horizon = max(p + r.output for p, r in zip(starts, instance.requests, strict=True))
    windows = Windows(tuple(starts), tuple(starts), horizon)
    options = ilp_sparse_with_cuts.Options(groups=False, lookahead=rounds)
    model = ilp_sparse_with_cuts.build_model(instance, windows, options)
    ilp_sparse_with_cuts.set_starts(model, instance, starts)
    for row in model.lookahead.values():
        assert pyo.value(row.body) <= pyo.value(row.upper)


def test_the_lookahead_row_by_hand() -> None:
    """Two requests (0, 4), M = 5, d = 2, both started at 0: 2·1 + 2·2 = 6 > 5 at time 1.

    Nothing completes at times 1 and 2, so the row at time 1 says W + 2·N ≤ 5.  At time 4 both
    complete: 8 + 4 ≤ 5 + 2·n_0·2 with n_0 = 2, since no two hold more than 5 with one token each.
    """
    instance = Instance("two", 5, (Request(0, 0, 0, 4), Request(1, 0, 0, 4)))
    windows = Windows((0, 0), (0, 0), 4)
    options = ilp_sparse_with_cuts.Options(groups=False, lookahead=2)
    model = ilp_sparse_with_cuts.build_model(instance, windows, options)
    ilp_sparse_with_cuts.set_starts(model, instance, [0, 0])
    assert [pyo.value(model.lookahead[t].body) for t in (1, 4)] == [6, 12 - 2 * 2 * 2]


@given(drawn=scheduled(st.one_of(SMALL, CROWDED), 12), above=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_priced_windows_keep_schedules_up_to_the_known_one(
    drawn: tuple[Instance, list[int]], above: int
) -> None:
    """Fixing by the LP's prices keeps every feasible schedule with TEL ≤ U in its windows."""
    instance, starts = drawn
    known = make_schedule(instance, starts, "drawn").tel + above
    windows = start_windows(instance, known)
    if any(start > last for start, last in zip(starts, windows.latest, strict=True)):
        return
    fixed = priced_windows(instance, windows, known, by_scipy)
    for i, start in enumerate(starts):
        assert fixed.earliest[i] <= start <= fixed.latest[i]


def test_priced_windows_narrow_and_stay_without_a_bound() -> None:
    """On an am1 draw with its optimum known two fifths of the starts go; without one, none."""
    instance = am1.generate(seed=0, n=12)
    windows = start_windows(instance, 411)
    assert priced_windows(instance, windows, None, by_scipy) is windows
    assert priced_windows(instance, windows, 411, by_scipy).starts < 0.6 * windows.starts
