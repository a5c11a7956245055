"""Bounds and cuts: valid against brute force, exact in integers, of no size in the tokens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.lagrangian.price_bound import certify_prices, evaluate_prices
from formulations.lagrangian.priced_starts import start_costs
from formulations.mip import ilp_with_cuts
from formulations.valid.start_distances import forbidden_differences, overflows, separation
from formulations.valid.volume_bounds import lane_bound, volume_bound
from formulations.valid.window_groups import exclusive_groups, window_groups
from formulations.valid.windows import start_windows
from instances import Instance
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances

SMALL = instances(max_requests=5, max_memory=12, max_arrival=6, max_output=6)
CROWDED = instances(max_requests=6, max_memory=12, max_arrival=3, max_output=5)


@given(instance=SMALL)
@settings(max_examples=300, deadline=None)
def test_volume_bound_is_valid(instance: Instance) -> None:
    """The volume bound never exceeds the brute-force optimum, arrivals included."""
    assert volume_bound(instance) <= brute_force_optimum(instance)


@given(instance=instances(max_requests=6, max_memory=8, max_arrival=4, max_output=3))
@settings(max_examples=300, deadline=None)
def test_lane_bound_is_valid(instance: Instance) -> None:
    """Six requests on few lanes: never above the least sum of completions."""
    arrivals = sum(int(request.arrival) for request in instance.requests)
    bound = lane_bound(instance.requests, instance.memory)
    assert bound <= brute_force_optimum(instance) + arrivals


def test_volume_and_lane_bounds_by_hand() -> None:
    """Two requests (2, 2) with M = 6: volumes 7 and 14, so completions ≥ max(2, 2) and 3.

    With M = 7 two of s + 1 = 3 fit: from round 5 on, outputs 1 and 2, and 3 after the 1.
    """
    assert volume_bound(instance_of(6, (0, 2, 2), (0, 2, 2))) == 2 + 3
    requests = instance_of(7, *((5, 2, output) for output in (3, 1, 2))).requests
    assert lane_bound(requests, 7) == 3 * 5 + 1 + 2 + (1 + 3)
    assert lane_bound((), 7) == 0
    # One more fits, but not in the same lane: nobody waits.
    assert lane_bound(requests, 9) == 3 * 5 + 1 + 2 + 3


@given(
    instance=st.one_of(SMALL, CROWDED),
    prices=st.lists(st.floats(-0.5, 3.0, allow_nan=False), min_size=1, max_size=30),
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_any_prices_certify(instance: Instance, prices: list[float], data: st.DataObject) -> None:
    """The bound of any prices on memory, and on groups, is at most OPT, windows or not."""
    groups = window_groups(instance, (2, 3))
    group_prices = [
        data.draw(st.lists(st.floats(-0.2, 3.0), min_size=1, max_size=20)) for _ in groups
    ]
    optimum = brute_force_optimum(instance)
    for latest in (None, start_windows(instance, optimum).latest):
        assert certify_prices(instance, prices, latest).value <= optimum
        assert start_costs(instance, prices, groups, group_prices, latest).bound <= optimum


def test_bad_prices_are_refused() -> None:
    """Prices that are not numbers, negative numerators and overflow are named."""
    instance = instance_of(5, (0, 1, 2))
    with pytest.raises(ValueError, match="finite"):
        certify_prices(instance, [float("nan")])
    with pytest.raises(ValueError, match="finite"):
        start_costs(instance, [float("nan")], [], [])
    with pytest.raises(ValueError, match="at least 0"):
        evaluate_prices(instance, np.array([-1]), 1)
    with pytest.raises(OverflowError):
        evaluate_prices(instance, np.array([1 << 60, 1 << 60]), 1)
    with pytest.raises(OverflowError):
        start_costs(instance, [1e18, 1e18], [], [])


def _overflow(instance: Instance, difference: int) -> bool:
    """Return whether the checker refuses a pair whose starts differ by so much."""
    starts = [max(0, -difference), max(0, difference)]
    return not check_schedule(instance, make_schedule(instance, starts, "drawn")).valid


@given(instance=instances(max_requests=2, max_memory=16, max_arrival=0))
@settings(max_examples=300, deadline=None)
def test_start_differences_equal_the_checker(instance: Instance) -> None:
    """Overflow of a pair, its separation and its forbidden differences, against the checker."""
    requests = (instance.requests[0], instance.requests[-1])
    both = instance_of(instance.memory, *((0, r.prompt, r.output) for r in requests))
    first, second = both.requests
    bad = [d for d in range(-18, 19) if _overflow(both, d)]
    later = [d for d in bad if d >= 0]
    assert later == [d for d in range(19) if overflows(first, second, d, both.memory)]
    expected = max(later) + 1 if 0 in bad else 0
    assert separation(first, second, both.memory) == expected
    assert 0 not in bad or later == list(range(expected))
    found = forbidden_differences(first, second, both.memory)
    assert len(found) <= 2
    assert bad == [d for low, high in found for d in range(low, high + 1)]


def test_window_group_by_hand() -> None:
    """Three equal requests (0, 4), M = 9: β = ⌈(0 + 12 + 0 − 9)/2⌉ = 2, so at most 2 at a time.

    Starts 0, 0, 2: tokens 4 + 4 + 2 = 10 > 9 at time 4 would need a third window at round 1; the
    third may start 2 rounds later only with 4 + 4 + 2 = 10 > 9 tokens, which no row forbids; at 3
    rounds later 4 + 4 + 1 = 9 fits.
    """
    (group,) = window_groups(instance_of(9, *[(0, 0, 4)] * 3), (3,))
    assert group.most == 2
    assert {(member.before, member.after) for member in group.members} == {(0, 2)}


@given(instance=CROWDED)
@settings(max_examples=300, deadline=None)
def test_windows_are_no_longer_than_two_outputs(instance: Instance) -> None:
    """Each window opens less than an output before its start and has a round, for both kinds."""
    most = max(request.output for request in instance.requests)
    for group in [*exclusive_groups(instance), *window_groups(instance)]:
        assert len(group.members) > 1
        for member in group.members:
            assert 0 <= member.before < most
            assert 0 < member.before + member.after <= 2 * most


@given(instance=CROWDED)
@settings(max_examples=100, deadline=None)
def test_every_round_has_a_group_row_that_implies_its_own(instance: Instance) -> None:
    """The starts whose windows hold a round are among those of a row, or of one request."""
    windows = start_windows(instance)
    model = ilp_with_cuts.build_model(instance, windows, ilp_with_cuts.IlpOptions(groups=True))
    rows = [{column.index() for column in row.body.linear_vars} for row in model.group.values()]
    for group in exclusive_groups(instance):
        for time in range(-12, windows.horizon + 12):
            own = {
                (member.request, start)
                for member in group.members
                for start in windows.rounds(member.request)
                if start - member.before <= time < start + member.after
            }
            assert len({request for request, _ in own}) < 2 or any(own <= row for row in rows)
