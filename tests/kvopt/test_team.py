"""Jobs side by side: events of all, more jobs on demand, one end for all."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import psutil
import pytest

from instances import Instance, Request
from instances.families import am1
from kvopt.methods.grammar import read_method
from kvopt.running.events import BoundProved, Done, Event, ScheduleFound
from kvopt.running.task import Task
from kvopt.running.team import Order, StepBack, run_team
from tests.kvopt.sweep_tools import PAIR, task_of


def _task(instance: Instance, method: str, seconds: float = 20.0) -> Task:
    starts = [0, *range(100, 100 * len(instance), 100)]
    return task_of(instance, method, time_limit=seconds, warm_start=starts)


def test_two_engines_side_by_side_and_a_third_on_demand() -> None:
    """HiGHS and CP-SAT run at once; the first bound of one starts another job."""
    events: list[tuple[str, Event]] = []
    extra = [_task(PAIR, "cpsat:cpsat-time")]

    def listen(task: Task, event: Event) -> list[Task]:
        events.append((task.method.text, event))
        return [extra.pop()] if isinstance(event, BoundProved) and extra else []

    tasks = [_task(PAIR, "highs:ilp"), _task(PAIR, "cpsat:cpsat")]
    outcomes = run_team(tasks, listen, deadline=time.monotonic() + 30, finished=lambda: False)
    assert [outcome.ending for outcome in outcomes] == ["finished"] * 3
    done = {method for method, event in events if isinstance(event, Done)}
    assert done == {"highs:ilp", "cpsat:cpsat", "cpsat:cpsat-time"}


def test_all_stop_when_it_is_enough() -> None:
    """As soon as the listener has what it wants, what still runs is stopped."""
    instance = am1.generate(seed=0)
    seen: list[Event] = []

    def listen(task: Task, event: Event) -> list[Task]:
        del task
        seen.append(event)
        return []

    outcomes = run_team(
        [_task(instance, "improve", seconds=60), _task(PAIR, "highs:ilp")],
        listen,
        deadline=time.monotonic() + 60,
        finished=lambda: any(isinstance(event, Done) for event in seen),
    )
    assert sorted(outcome.ending for outcome in outcomes) in (
        ["finished", "stopped"],
        ["stopped", "stopped"],
    )


@pytest.mark.slow("waits")
def test_the_deadline_ends_all() -> None:
    """A process that goes on is killed at the deadline, and its schedules are kept."""
    instance = am1.generate(seed=0)
    schedules: list[list[int]] = []

    def listen(task: Task, event: Event) -> list[Task]:
        del task
        if isinstance(event, ScheduleFound):
            schedules.append(event.starts)
        return []

    started = time.monotonic()
    outcomes = run_team(
        [_task(instance, "improve", seconds=60)],
        listen,
        deadline=started + 12,
        finished=lambda: False,
        grace=0.2,
    )
    assert [outcome.ending for outcome in outcomes] == ["time_limit"]
    assert time.monotonic() - started < 20
    assert schedules


@pytest.mark.slow("waits")
def test_whoever_has_ended_is_followed_whatever_ended_it() -> None:
    """One is done, one refuses its task without a word, one is too large, one fails."""
    large = Instance("large", 100, tuple(Request(k, 0, 50, 50) for k in range(70)))
    named = [
        _task(PAIR, "cpsat:cpsat"),
        _task(large, "search:layers"),
        replace(_task(large, "highs:ilp"), memory_limit=0.05),
        replace(_task(PAIR, "cpsat:cpsat-time"), warm_start=[0]),
    ]
    ended: list[str] = []
    done: set[str] = set()

    def listen(task: Task, event: Event) -> list[Task]:
        if isinstance(event, Done):
            done.add(task.method.text)
        return []

    def follow(task: Task) -> list[Task]:
        ended.append(task.method.text)
        return [_task(PAIR, "bound:bound-dual")] if len(ended) == len(named) else []

    outcomes = run_team(
        named, listen, deadline=time.monotonic() + 60, finished=lambda: False, on_end=follow
    )
    assert sorted(ended[:-1]) == sorted(task.method.text for task in named)
    assert ended[-1] == "bound:bound-dual"
    assert [outcome.ending for outcome in outcomes].count("memory_limit") == 1
    assert done == {"cpsat:cpsat", "bound:bound-dual"}


def test_one_goes_behind_the_others() -> None:
    """Its processes get a lower priority, and the others keep theirs."""
    instance = am1.generate(seed=0)
    own = os.nice(0)
    others = {child.pid for child in psutil.Process().children(recursive=True)}
    begun: set[str] = set()
    orders: list[Order] = [StepBack(read_method("improve"))]
    found: list[list[int]] = []

    def listen(task: Task, event: Event) -> list[Order]:
        del event
        begun.add(task.method.text)
        return [] if begun != {"improve", "search:sweep"} or not orders else [orders.pop()]

    def tick() -> list[Order]:
        if not orders:
            children = psutil.Process().children(recursive=True)
            found.append(sorted(child.nice() for child in children if child.pid not in others))
        return []

    run_team(
        [_task(instance, "improve", seconds=60), _task(instance, "search:sweep", seconds=60)],
        listen,
        deadline=time.monotonic() + 60,
        finished=lambda: len(found) > 3,
        on_tick=tick,
    )
    assert found[-1] == [own] * 2 + [max(own, 10)] * 2
