"""Jobs side by side: events of all, more jobs on demand, one end for all."""

from __future__ import annotations

import time

from instances import Instance, Request
from instances.families import am1
from kvopt.running.events import BoundProved, Done, Event, ScheduleFound
from kvopt.running.task import Task
from kvopt.running.team import run_team

PAIR = Instance("pair", 5, (Request(0, 0, 1, 2), Request(1, 3, 0, 4)))


def _task(instance: Instance, method: str, seconds: float = 20.0) -> Task:
    return Task(
        instance=instance,
        name=instance.name,
        method=method,
        time_limit=seconds,
        warm_start=[0, *range(100, 100 * len(instance), 100)],
    )


def test_two_engines_side_by_side_and_a_third_on_demand() -> None:
    """HiGHS and CP-SAT run at once; the first bound of one starts another job."""
    events: list[tuple[str, Event]] = []
    extra = [_task(PAIR, "cpsat:cpsat-time")]

    def listen(task: Task, event: Event) -> list[Task]:
        events.append((task.method, event))
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
