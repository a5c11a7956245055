"""Run the tasks of an engine in one process, so that its imports happen once."""

import atexit
import importlib
import json
import sys
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from heuristics.simulator import run_policy
from instances import Instance
from kvopt.engines.start import run_engine, warm_start_policies
from kvopt.methods.engine_table import engine_of, engines
from kvopt.methods.grammar import read_method
from kvopt.methods.option_values import read_formulation
from kvopt.runs.events import (
    BoundProved,
    Event,
    EventReport,
    MethodFailed,
    RelaxationSolved,
    ScheduleFound,
    event_line,
    read_event,
)
from kvopt.runs.kernel_compilation import compile_first
from kvopt.runs.task import Task
from schedules import Schedule, check_schedule, make_schedule
from tests.child import Child, open_answers

_SOLVERS = {each.solves: name for name, each in engines().items() if each.default}
#: Units of kernels that tests run.
WITH_KERNELS = ("annealing", "prices", "sweep", "layers")
#: Seconds beyond its limit after which a task hangs: the first of a process imports.
_LATE = 300.0


@dataclass(frozen=True)
class Answer:
    """What one formulation says of one instance: best TEL, integer bound, LP objective."""

    tel: int
    bound: int
    relaxation: float | None


def solve_batch(
    pairs: list[tuple[Instance, str]],
    seconds: float = 60.0,
    threads: int = 1,
    seed: int = 0,
    poor_start: bool = False,
) -> list[Answer]:
    """Solve (instance, formulation) pairs in one process an engine, in the pairs' order."""
    answers: dict[int, Answer] = {}
    for solver in _SOLVERS.values():
        chosen = [
            (position, instance, name)
            for position, (instance, name) in enumerate(pairs)
            if _SOLVERS[read_formulation(name)[0].kind] == solver
        ]
        tasks = [
            _task(instance, f"{solver}:{name}", seconds, threads, seed, poor_start)
            for _, instance, name in chosen
        ]
        for (position, *_), task in zip(chosen, tasks, strict=True):
            events = _children()[solver].ask(task.to_line(), seconds + _LATE)
            answers[position] = _answer(task, read_events(events))
    return [answers[position] for position in range(len(pairs))]


def _task(
    instance: Instance, method: str, seconds: float, threads: int, seed: int, poor_start: bool
) -> Task:
    if poor_start:
        known = one_at_a_time(instance)
    else:
        found = (run_policy(policy, instance) for policy in warm_start_policies())
        known = min(found, key=lambda schedule: schedule.tel)
    return engine_task(instance, method, seconds, list(known.starts), seed, threads)


def engine_task(
    instance: Instance,
    method: str,
    seconds: float,
    starts: list[int],
    seed: int = 0,
    threads: int = 1,
) -> Task:
    """Return the task of an engine that begins with a schedule."""
    given = instance, instance.name, read_method(method), seed, seconds, 2.0, threads
    return replace(Task(*given), warm_start=starts)


def one_at_a_time(instance: Instance) -> Schedule:
    """Return the schedule in which the requests run alone, in the order of their arrivals."""
    starts = [0] * len(instance)
    free_from = 0
    for i in np.argsort(instance.arrivals, kind="stable").tolist():
        starts[i] = max(free_from, int(instance.requests[i].arrival))
        free_from = starts[i] + instance.requests[i].output
    return make_schedule(instance, starts, "one at a time")


def _answer(task: Task, events: list[Event]) -> Answer:
    instance, starts = task.instance, task.warm_start
    assert instance is not None
    assert starts is not None
    tel, bound, relaxation = make_schedule(instance, starts, "known").tel, 0, None
    for event in events:
        assert not isinstance(event, MethodFailed), (task.method.text, instance, event)
        if isinstance(event, ScheduleFound):
            schedule = make_schedule(instance, event.starts, task.method.text)
            verdict = check_schedule(instance, schedule)
            assert verdict.valid, (task.method.text, verdict.reason)
            tel = min(tel, schedule.tel)
        elif isinstance(event, BoundProved):
            bound = max(bound, event.value)
        elif isinstance(event, RelaxationSolved) and event.value is not None:
            relaxation = event.value
    return Answer(tel, bound, relaxation)


@cache
def _children() -> dict[str, Child]:
    """Return the process of each engine, since two cannot share one; they end with the tests."""
    compile_first(WITH_KERNELS)
    children = {solver: Child("-m", "tests.engine_batch") for solver in _SOLVERS.values()}
    for child in children.values():
        atexit.register(child.close)
    return children


def start_afresh() -> None:
    """Have the next tasks run in new processes."""
    for child in _children().values():
        child.close()


def read_events(line: str) -> list[Event]:
    """Return the events of a task, which stand in one line."""
    events = [read_event(each.encode()) for each in json.loads(line)]
    return [event for event in events if event is not None]


def main() -> None:
    """Read tasks from standard input, one a line; write the events of each as one line."""
    answers = open_answers()
    for line in sys.stdin:
        task = Task.from_line(line)
        method = task.method
        engine = importlib.import_module(engine_of(method.solver).module)
        lines: list[str] = []
        run_engine(engine, method, task, EventReport(lambda event: lines.append(event_line(event))))  # noqa: B023
        print(json.dumps(lines), file=answers)


if __name__ == "__main__":
    main()
