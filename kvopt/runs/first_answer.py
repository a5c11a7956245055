"""What a run reports before all that it needs is compiled, once on a machine."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from types import ModuleType
from typing import NoReturn

from formulations.valid.loads import alone_bound, work_bound
from formulations.valid.volumes import volume_bound
from heuristics.compiled import interpreting
from heuristics.simulator import Setting, run_policy
from instances.batch_time import parse_batch_time
from kvopt.engines.start import quick_schedule, run_engine, warm_start_policies
from kvopt.methods.grammar import read_method
from kvopt.methods.method import Method
from kvopt.runs.compiled import missing_units
from kvopt.runs.events import Event, Report, ScheduleFound
from kvopt.runs.task import Task
from schedules import make_schedule

#: Requests up to which an interpreted policy takes a second or less.
FIRST_UP_TO = 50_000
#: The unit of the local search.
_SEARCH = "annealing"


class FirstAnswer:
    """A bound and schedules, found while kernels are compiled; the clock of the run stands at 0."""

    def __init__(self, task: Task, report: Report) -> None:
        self._task = task
        self._report = report.through(
            lambda event: report.sink(event.model_copy(update={"seconds": 0.0}))
        )
        self._starts: list[int] | None = None
        self._tel = 0

    def answer(self) -> None:
        """Report a bound and a schedule."""
        task, instance = self._task, self._task.instance
        assert instance is not None
        report_quick_bounds(task, self._report)
        if len(instance) <= FIRST_UP_TO:
            policy = warm_start_policies()[0]
            batch_time = parse_batch_time(task.batch_time) if task.batch_time else None
            with interpreting():
                schedule = run_policy(policy, instance, Setting(batch_time=batch_time))
            self._report.found(schedule, f"policy {policy.name}")

    def improve(self, begun: Mapping[str, Future[None]]) -> None:
        """Ask the other policies, then search from the best schedule, until all is compiled.

        The search begins when it is compiled itself, and goes behind the others where processors
        are short.  A run that is stored does without: it has the same time whether it is the first
        of this machine or not.
        """
        task, instance = self._task, self._task.instance
        assert instance is not None
        auto = task.method.kind == "auto" or task.method.joined
        if not auto or task.batch_time or task.code or len(instance) > FIRST_UP_TO:
            return
        with interpreting():
            first = quick_schedule(instance, task.end_from(time.monotonic()), self._report)
        self._starts, self._tel = list(first.starts), first.tel
        wait([begun[unit] for unit in begun.keys() & {_SEARCH}])
        if not missing_units([_SEARCH]):
            self._search([each for unit, each in begun.items() if unit != _SEARCH])

    def _search(self, others: list[Future[None]]) -> None:
        from kvopt.runs.team import StepBack, run_team  # what no later run needs

        task, method = self._task, read_method("improve", planned=True)
        search = Task(task.instance, task.name, method, task.seed, warm_start=self._starts)
        orders = iter([[StepBack(method)]])
        run_team(
            [replace(search, memory_limit=task.memory_limit)],
            lambda _, event: self._take(event),
            deadline=math.inf,
            finished=lambda: all(each.done() for each in others),
            on_tick=lambda: next(orders, ()),
        )

    def _take(self, event: Event) -> Sequence[NoReturn]:
        assert self._task.instance is not None
        if isinstance(event, ScheduleFound):
            schedule = make_schedule(self._task.instance, event.starts, "")
            if schedule.tel < self._tel:
                self._starts, self._tel = list(schedule.starts), schedule.tel
                self._report.sink(event)
        return ()

    def run(self, engine: ModuleType, method: Method, task: Task, report: Report) -> None:
        """Run an engine, from the schedule that was searched for."""
        starts = self._starts or task.warm_start
        run_engine(engine, method, replace(task, warm_start=starts), report)


def report_quick_bounds(task: Task, report: Report) -> None:
    """Report the bounds that cost next to nothing; volumes bound rounds, loads seconds."""
    instance = task.instance
    assert instance is not None
    if not task.batch_time:
        report.bound(volume_bound(instance), "volumes")
        return
    batch_time = parse_batch_time(task.batch_time)
    for name, compute in (("alone", alone_bound), ("work", work_bound)):
        value = compute(instance, batch_time)
        report.bound(value, name, {"kind": name, "value": value, "batch_time": batch_time.name})
