"""Every registered policy passes these tests unasked: adding a policy adds its cases."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request
from schedules import check_schedule
from tests.oracles.draws import instances
from tests.oracles.literal_policies import RANKS, literal_starts

ALL = sorted(policies())


@pytest.mark.parametrize("name", ALL)
@given(instance=instances(max_requests=12))
@settings(max_examples=150, deadline=None)
def test_schedule_passes_the_checker(name: str, instance: Instance) -> None:
    """The independent checker accepts every schedule, each request served once."""
    verdict = check_schedule(instance, run_policy(policies()[name], instance))
    assert verdict.valid, verdict.reason


@pytest.mark.parametrize("name", sorted(RANKS))
@given(instance=instances(max_requests=10))
@settings(max_examples=200, deadline=None)
def test_equals_the_literal_transcription(name: str, instance: Instance) -> None:
    """Skipping rounds in which nothing can change loses nothing against round by round."""
    assert list(run_policy(policies()[name], instance).starts) == literal_starts(instance, name)


@pytest.mark.parametrize("name", ALL)
@given(instance=instances(max_requests=8))
@settings(max_examples=50, deadline=None)
def test_never_looks_at_the_future(name: str, instance: Instance) -> None:
    """Changing what has not arrived yet leaves every earlier start as it was."""
    cut = max(int(request.arrival) for request in instance.requests)
    changed = tuple(
        request
        if request.arrival < cut
        else Request(request.id, cut + 3, 0, min(1, instance.memory))
        for request in instance.requests
    )
    before = run_policy(policies()[name], instance).starts
    after = run_policy(policies()[name], Instance("changed", instance.memory, changed)).starts
    early = [i for i, start in enumerate(before) if start < cut]
    assert [after[i] for i in early] == [before[i] for i in early]


@pytest.mark.parametrize("name", ALL)
def test_a_request_as_large_as_memory(name: str) -> None:
    """A request that fills M at its peak runs alone."""
    instance = Instance("full", 5, (Request(0, 0, 2, 3), Request(1, 0, 0, 5)))
    starts = run_policy(policies()[name], instance).starts
    # They overlap at no time: the one that starts second waits for the other's completion.
    assert sorted(starts) in ([0, 3], [0, 5])


@pytest.mark.parametrize("name", ALL)
def test_tokens_near_the_largest_allowed(name: str) -> None:
    """Volumes of 10^9-token requests do not overflow 64-bit integers."""
    instance = Instance(
        "huge", 10**9, (Request(0, 0, 0, 10**9), Request(1, 0, 10**9 - 1, 1), Request(2, 7, 1, 1))
    )
    assert check_schedule(instance, run_policy(policies()[name], instance)).valid


def test_example_3_1() -> None:
    """W Example 3.1: MC-SF serves the long prompt first, TEL 1 + 21·3 = 64."""
    requests = [Request(0, 0, 63, 1)] + [Request(i, 0, 1, 2) for i in range(1, 22)]
    instance = Instance("example_3_1", 64, tuple(requests))
    assert run_policy(policies()["mc-sf"], instance).tel == 64
    # Smallest volume first: 21 requests of volume 5 fill 63 tokens at round 2, then the long
    # prompt (volume 64) starts as they complete: 21·2 + 3 = 45.
    assert run_policy(policies()["svf"], instance).tel == 45


def test_counterexample_to_shortest_first() -> None:
    """J1 Theorem 4.2 fails at M = 5, s = 1, o = (1, 1, 3, 3): MC-SF needs 13, 12 is possible."""
    requests = tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3)))
    instance = Instance("counterexample", 5, requests)
    # Both short ones at 0 (2 + 2 tokens at round 1), the long ones at 1 and 4: 1 + 1 + 4 + 7.
    assert run_policy(policies()["mc-sf"], instance).tel == 13


def test_arrivals_in_seconds_are_refused() -> None:
    """Rounds are the only clock here; arrivals in seconds are named, not rounded."""
    instance = Instance("seconds", 5, (Request(0, 0.5, 1, 1),), time_unit="second")
    with pytest.raises(ValueError, match="seconds"):
        run_policy(policies()["fcfs"], instance)
