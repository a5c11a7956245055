"""What strengthens formulations, alone: each cut and bound against brute force."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.lagrangian.starts import start_costs
from formulations.valid.groups import exclusive_groups, window_groups
from formulations.valid.separation import forbidden_differences
from formulations.valid.windows import start_windows
from instances import Instance, Request
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances, scheduled

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
