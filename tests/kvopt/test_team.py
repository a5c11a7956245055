"""Jobs side by side: events of all, more jobs on demand, what they tell one another, one end."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from formulations.dp import forward
from formulations.dp.forward import ForwardPass
from formulations.lagrangian.priced_starts import certified_costs
from formulations.valid.windows import start_windows
from instances import Instance
from instances.families import am1
from kvopt.engines import auto
from kvopt.engines.job import EngineJob
from kvopt.methods.grammar import read_method
from kvopt.runs.events import BoundProved, Event, EventReport, MethodDone, Ready, ScheduleFound
from kvopt.runs.task import Task
from kvopt.runs.team import Order, SendSchedule, run_team
from tests.engine_batch import one_at_a_time
from tests.kvopt.sweep_tools import PAIR, task_of
from tests.oracles.brute_force import brute_force_optimum


def _task(instance: Instance, method: str, seconds: float = 20.0) -> Task:
    starts = [0, *range(100, 100 * len(instance), 100)]
    return task_of(instance, method, time_limit=seconds, warm_start=starts)


def _run(
    tasks: list[Task],
    on_event: Callable[[Task, Event], Sequence[Order]],
    finished: Callable[[], bool] = lambda: False,
    seconds: float = 60.0,
    **more: Any,
) -> list[str]:
    """Run a team and return how its processes ended."""
    more |= {"deadline": time.monotonic() + seconds, "finished": finished}
    return [outcome.ending for outcome in run_team(tasks, on_event, **more)]


def test_two_engines_side_by_side_and_a_third_on_demand() -> None:
    """HiGHS and CP-SAT run at once; the first bound of one starts another job."""
    done, extra = set[str](), [_task(PAIR, "cpsat:cpsat-strong")]

    def listen(task: Task, event: Event) -> list[Task]:
        done.update([task.method.text] if isinstance(event, MethodDone) else [])
        return [extra.pop()] if isinstance(event, BoundProved) and extra else []

    tasks = [_task(PAIR, "highs:ilp"), _task(PAIR, "cpsat:cpsat")]
    assert _run(tasks, listen) == ["finished"] * 3
    assert done == {"highs:ilp", "cpsat:cpsat", "cpsat:cpsat-strong"}


def test_all_stop_when_it_is_enough() -> None:
    """As soon as the listener has what it wants, what still runs is stopped."""
    done: list[Event] = []

    def listen(_: Task, event: Event) -> list[Task]:
        done.extend([event] if isinstance(event, MethodDone) else [])
        return []

    tasks = [_task(am1.generate(seed=0), "improve", seconds=60), _task(PAIR, "highs:ilp")]
    endings = sorted(_run(tasks, listen, lambda: bool(done)))
    assert endings in (["finished", "stopped"], ["stopped", "stopped"])


@pytest.mark.slow("waits")
def test_the_deadline_ends_all() -> None:
    """A process that goes on is killed at the deadline, and its schedules are kept."""
    schedules: list[Event] = []

    def listen(_: Task, event: Event) -> list[Task]:
        schedules.extend([event] if isinstance(event, ScheduleFound) else [])
        return []

    started = time.monotonic()
    tasks = [_task(am1.generate(seed=0), "improve", seconds=60)]
    assert _run(tasks, listen, seconds=12) == ["time_limit"]
    assert time.monotonic() - started < 20
    assert schedules


TASK = Task(PAIR, PAIR.name, read_method("improve"))
_HEARS = """
import os, time
from kvopt.runs.team import RECEIVED
next(lines)
RECEIVED.listen(lines)
send('{"kind": "ready"}')
while RECEIVED.starts is None:
    time.sleep(0.01)
send(f'{{"kind": "schedule", "starts": {[*RECEIVED.starts, os.nice(0)]}}}')
send('{"kind": "peak", "bytes": 1}')
"""


def test_what_a_team_tells_reaches_each_process(played: Callable[[str], None]) -> None:
    """Once they listen, two are told of a schedule; they send it with their nice values."""
    played(_HEARS)
    ready, found = list[Event](), list[list[int]]()

    def listen(_: Task, event: Event) -> list[Order]:
        if isinstance(event, ScheduleFound):
            found.append(event.starts)
        ready.extend([event] if isinstance(event, Ready) else [])
        return [SendSchedule([0, 3])] if isinstance(event, Ready) and len(ready) == 2 else []

    behind = replace(TASK, seed=1)
    assert _run([behind, TASK], listen, yields=lambda task: task is behind) == ["finished"] * 2
    assert sorted(found) == [[0, 3, os.nice(0)], [0, 3, os.nice(0) + 10]]


def test_auto_tells_of_what_is_better_only() -> None:
    """A schedule that is no better, or none at all, is told to nobody."""
    events: list[Event] = []
    job = EngineJob(PAIR, "auto", None, False, time.monotonic() + 60, 1, 0, [1, 6], 9)
    team = auto._Team(job, EventReport(events.append))
    told = [
        team._listen(TASK, ScheduleFound(starts=starts, found_by="another", seconds=0))
        for starts in ([0, 7], [0], [0, 4], [0, 5], [0, 3])
    ]
    assert told == [[], [], [SendSchedule([0, 4])], [], [SendSchedule([0, 3])]]


def test_what_is_known_beside_is_no_news_unless_it_is_better() -> None:
    """Its TEL is that of its starts: (1 + 2) + (4 + 4 − 3) = 8."""
    job = EngineJob(PAIR, "search", None, False, 0.0, 1, 0, [1, 6], 9, beside=lambda: [1, 4])
    assert job.known(9) == (8, [1, 4])
    assert job.known(8) is None
    assert EngineJob(PAIR, "search", None, False, 0.0, 1, 0, [1, 6], 9).known(9) is None


def test_a_pass_takes_a_better_schedule_on_its_way() -> None:
    """It receives the optimum after some rounds, proves it, and makes fewer states."""
    instance = am1.generate(seed=1, n=6, memory=12)
    optimum, known = brute_force_optimum(instance), one_at_a_time(instance)
    tel, poor = known.tel, list(known.starts)
    windows = start_windows(instance, tel)
    costs = certified_costs(instance, [], None, windows.latest)

    def search(sent: list[tuple[int, list[int]] | None]) -> ForwardPass:
        given = instance, windows, costs, (tel, poor), 100_000
        found = forward.search(*given, known=lambda: sent.pop(0) if len(sent) > 1 else sent[0])
        assert found is not None
        return found

    alone = search([None])
    assert (alone.tel, alone.complete) == (optimum, True)
    helped = search([None, None, (optimum, alone.starts)])
    assert (helped.tel, helped.starts, helped.complete) == (optimum, alone.starts, True)
    assert helped.states < alone.states
    # What is no better, or too late for the numbers of a pass, changes nothing.
    assert search([None, None, (optimum, [1 << 15] * 6)]) == alone
    assert search([None, None, (tel, [0] * 6)]) == alone
