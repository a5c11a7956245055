"""The search as an engine: what its prices certify, and that no bound is cut to the schedule."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate
from formulations.dp import bidirectional, forward
from formulations.lagrangian.priced_starts import certified_costs, start_costs
from formulations.valid.window_groups import window_groups
from formulations.valid.windows import start_windows
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request
from kvopt.engines import search
from kvopt.engines.job import EngineJob
from kvopt.runs.events import BoundProved, Event, EventReport
from kvopt.runs.state import RunState
from schedules import make_schedule
from tests.engine_batch import one_at_a_time, solve_batch
from tests.kvopt.sweep_tools import Patch
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances

#: The LP's prices fit the windows that the known schedule gives; over all starts they certify
#: less than 0.
CRASH = Instance("crash", 8, (Request(0, 1, 0, 1), Request(1, 0, 6, 2)))
SMALL = instances(max_requests=4, max_memory=10, max_arrival=6, max_output=6)


def search_job(
    module: Any,
    options: object,
    instance: Instance,
    seconds: float,
    starts: list[int],
    tel: int,
    **limits: Any,
) -> EngineJob:
    """Return a job of the search, with a formulation's module and its options."""
    given = instance, "search", module.FORMULATION, False, time.monotonic() + seconds, 1, 0
    return EngineJob(*given, starts, tel, options={"options": options}, **limits)


def _events(
    monkeypatch: Patch, instance: Instance, starts: list[int], upper_bound: int, prices: Any
) -> list[Event]:
    """Run the search in this process, with these memory prices in place of the LP's."""
    found = None if prices is None else (np.array(prices), np.zeros((0, 1)))
    monkeypatch.setattr(search, "lp_prices", lambda *_: found)
    events: list[Event] = []
    job = search_job(forward, None, instance, 30.0, starts, upper_bound)
    search.solve(job, EventReport(events.append))
    return events


def bounds_of(events: list[Event]) -> list[BoundProved]:
    return [event for event in events if isinstance(event, BoundProved)]


def test_prices_fitted_with_windows_are_evaluated_with_them() -> None:
    """The search proves the optimum: (1, 0, 1) at once and (0, 6, 2) at 0, latencies 1 + 2."""
    # Together at time 2 they hold 1 + 8 tokens, more than M = 8, so one waits: 1 + 2 + 1 = 4.
    (answer,) = solve_batch([(CRASH, "layers")], poor_start=True)
    assert (answer.tel, answer.bound) == (4, 4)


@given(instance=SMALL, prices=st.lists(st.floats(0, 0.5), max_size=12), late=st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_every_bound_is_sent_with_its_proof(
    instance: Instance, prices: list[float], late: int
) -> None:
    """Bounds stay at or below the optimum, and the certificate proves what it says."""
    known = one_at_a_time(instance)
    upper_bound = known.tel + late
    with pytest.MonkeyPatch.context() as monkeypatch:
        events = _events(monkeypatch, instance, list(known.starts), upper_bound, prices)
    optimum = brute_force_optimum(instance)
    for bound in bounds_of(events):
        assert 0 < bound.value <= optimum
        if bound.certificate is not None:
            certificate = read_certificate(bound.certificate)
            assert certificate.upper_bound == upper_bound
            assert certificate.value <= evaluate_certificate(instance, certificate) <= optimum
    assert bounds_of(events)[-1].value == optimum


def test_a_bound_above_the_known_schedule_is_a_contradiction(monkeypatch: Patch) -> None:
    """A wrong known TEL, or a wrong bound, ends as an error and never looks like a proof."""
    # One request of o = 3 has the optimum 3.  If its known TEL is given as 2, Σ o = 3 exceeds it.
    instance = Instance("one", 5, (Request(0, 0, 1, 3),))
    events = _events(monkeypatch, instance, [0], 2, None)
    assert max(bound.value for bound in bounds_of(events)) == 3
    # A bound that is wrong by one, from a schedule that is right.

    def raised(*given: Any) -> Any:
        costs = certified_costs(*given)
        return replace(costs, constant=costs.constant - costs.denominator)

    monkeypatch.setattr(search, "certified_costs", raised)
    state = RunState(instance, "search:layers")
    state.offer(make_schedule(instance, [0], "known"), "known")
    for event in _events(monkeypatch, instance, [0], 3, None):
        state.take(event)
    assert state.lower_bound == 4
    state.close()
    assert state.standing() == "error"
    assert state.lower_bound is None


def test_multipliers_on_states_first_prove_the_optimum() -> None:
    """Also where bases cannot be compared for the memory: then those on memory do."""
    rows, drawn = [(3, 9), (0, 4), (5, 7), (2, 2), (1, 8), (4, 5)], []
    for memory in (17, 400, 40_000):
        scale = max(memory // 40, 1)
        drawn.append(instance_of(memory, *((i % 3, scale * s, o) for i, (s, o) in enumerate(rows))))
    answers = solve_batch([(each, "bidirectional(states=yes)") for each in drawn], poor_start=True)
    for instance, answer in zip(drawn, answers, strict=True):
        assert answer.tel == answer.bound == brute_force_optimum(instance)


@pytest.mark.parametrize("seconds", [-0.1, 0.02])
def test_multipliers_on_states_end_with_the_time(seconds: float) -> None:
    """Also where it is over before they begin."""
    instance = instance_of(9, *[(0, 1, 3)] * 6)
    known = run_policy(policies()["fcfs"], instance)
    options = bidirectional.BidirectionalOptions(states=True)
    job = search_job(bidirectional, options, instance, seconds, list(known.starts), known.tel)
    # Once it never returned.
    search.solve(job, EventReport(lambda _: None))


@given(instance=SMALL, prices=st.lists(st.floats(0, 0.5), max_size=12))
@settings(max_examples=100, deadline=None)
def test_windows_never_weaken_a_bound(instance: Instance, prices: list[float]) -> None:
    """With windows the same prices certify at least as much, and at most the optimum."""
    groups, optimum = window_groups(instance), brute_force_optimum(instance)
    pair = (np.array(prices), np.full((len(groups), 4), 0.2))
    latest = start_windows(instance, optimum).latest
    without = start_costs(instance, *(pair[0], groups, pair[1])).bound
    within = certified_costs(instance, groups, pair, latest).bound
    assert max(without, sum(request.output for request in instance.requests)) <= within <= optimum
