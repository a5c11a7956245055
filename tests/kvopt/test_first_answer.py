"""What is done before the clock of a run starts: loading, and what can be while kernels compile."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from formulations.bounds import rates
from heuristics.simulator import run_policy
from kvopt.engines import in_seconds
from kvopt.engines.start import warm_start_policies
from kvopt.methods.grammar import read_method
from kvopt.runs import first_answer, team
from kvopt.runs.compiled import compile_first
from kvopt.runs.events import Event, Report, ScheduleFound
from kvopt.runs.first_answer import FirstAnswer
from kvopt.runs.task import Task
from schedules import check_schedule, make_schedule
from tests.kvopt.conftest import HARD
from tests.kvopt.sweep_tools import in_python
from tests.tiers import a_few

TASK = Task(HARD, "hard", read_method("auto"))


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


@pytest.mark.parametrize("search_is_first", [True, False])
def test_the_search_begins_before_the_rest_is_compiled(search_is_first: bool) -> None:
    """It goes on from the best policy, and the engine from what it has found."""
    compile_first(["annealing"])
    rest: Future[None] = Future()
    events: list[ScheduleFound] = []

    def sink(event: Event) -> None:
        assert event.seconds == 0
        if isinstance(event, ScheduleFound):
            events.append(event)
            if event.found_by == "local search":
                rest.cancel()

    first = FirstAnswer(TASK, Report(sink))
    first.improve({"annealing": _done(), "sweep": rest} if search_is_first else {"sweep": rest})
    best = make_schedule(HARD, events[-1].starts, "")
    assert check_schedule(HARD, best).valid
    assert best.tel < min(run_policy(policy, HARD).tel for policy in warm_start_policies())

    given: list[Any] = []
    engine: Any = SimpleNamespace(SPLIT=False, solve=lambda job, _: given.append(job.warm_start))
    first.run(engine, TASK.method, TASK, Report(lambda _: None))
    assert given == [events[-1].starts]


@pytest.mark.parametrize(
    "task",
    [replace(TASK, code="stored"), replace(TASK, method=read_method("highs:ilp"))],
    ids=["stored", "alone"],
)
def test_a_run_that_is_compared_gets_no_time_for_nothing(task: Task) -> None:
    """A run for a store, or of one engine by itself, is what it is on a machine that has all."""
    events: list[Event] = []
    first = FirstAnswer(task, Report(events.append))
    first.improve({"annealing": _done(), "prices": Future()})
    assert events == []


def test_a_search_that_cannot_be_compiled_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then the best policy's schedule is what there is."""
    monkeypatch.setattr(first_answer, "missing_units", lambda units: list(units))
    events: list[Event] = []
    FirstAnswer(TASK, Report(events.append)).improve({"annealing": _done(), "sweep": Future()})
    assert {each.found_by[:6] for each in events if isinstance(each, ScheduleFound)} == {"policy"}


def test_a_schedule_as_good_as_the_best_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search begins with is known; what is no better than that is no news."""
    begun: list[Any] = []

    def search(tasks: list[Task], on_event: Any, **_: object) -> None:
        begun.extend(tasks[0].warm_start or ())
        on_event(tasks[0], ScheduleFound(seconds=0, starts=begun, found_by="search"))

    monkeypatch.setattr(first_answer, "missing_units", lambda _: [])
    monkeypatch.setattr(team, "run_team", search)
    events: list[Event] = []
    FirstAnswer(TASK, Report(events.append)).improve({"annealing": _done()})
    found = [each for each in events if isinstance(each, ScheduleFound)]
    assert begun == found[-1].starts
    assert {each.found_by[:6] for each in found} == {"policy"}


#: Prepares a method and runs it; prints which libraries came late.
_RUN = """
import sys
from kvopt.methods.grammar import read_method
from kvopt.runs.events import Report
from kvopt.runs.preparing import prepare
from kvopt.runs.task import Task
import kvopt

instance = kvopt.read("tiny_two_bursts")
task = Task(instance=instance, name=instance.name, method=read_method(sys.argv[1]))
run = prepare(task, Report([].append))
loaded = set(sys.modules)
run(task, Report([].append))
late = {"highspy", "ortools", "pyomo", "scipy", "numba"} & sys.modules.keys() - loaded
print(sorted(late), "pyomo" in loaded)
"""


@pytest.mark.parametrize(
    ("method", "pyomo"),
    a_few(
        [
            ("highs:ilp", True),
            ("search", False),
            ("sorted-lp", True),
            ("cpsat:cpsat-strong", False),
            ("bound:bound-dual", False),
        ],
        3,
    ),
)
def test_libraries_are_loaded_before_the_clock(method: str, pyomo: bool) -> None:
    """No library is left for the counted time, also what Pyomo puts off until its first model."""
    assert in_python(_RUN, method).splitlines()[-1] == f"[] {pyomo}"


def test_kernels_are_compiled_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a busy machine takes an hour for each step, too."""
    compiled: list[str] = []
    clock = itertools.count(step=3600)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(rates, "_load_kernel", lambda: compiled.append("machine_prices"))
    in_seconds.compile_kernels()
    assert compiled == ["machine_prices"]
