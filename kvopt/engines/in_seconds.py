"""What engines do about an instance in seconds: policies on the clock, and the certified bound."""

from __future__ import annotations

import math
import time

from formulations.bounds.seconds import bound_in_seconds
from formulations.valid.loads import Room, not_covered
from heuristics.policy import Policy
from heuristics.registry import policies
from heuristics.simulator import Setting, run_policy
from instances import Instance, Request
from instances.batch_time import DEFAULT, BatchTime, parse_batch_time
from kvopt.engines.start import WARM_START_SHARE, warm_start_policies
from kvopt.runs.events import Report
from kvopt.runs.task import Task
from schedules.model import better

#: Share of the time kept back for the last evaluation of the prices.
_RESERVE_SHARE = 0.05


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.runs.compiled``)."""
    del instance, formulation
    return {"seconds"}


def solve_in_seconds(task: Task, report: Report) -> None:
    """Run the policies that engines begin with, then compute the bound, and send what improves.

    The policies come first, for a share of the time, so that there is a schedule whatever the bound
    takes.  What is left of them after that share is run after the bound, unless that is all that is
    asked for.
    """
    instance, batch_time = task.instance, parse_batch_time(task.batch_time)
    assert instance is not None
    began = time.monotonic()
    end = task.end_from(began)
    waiting: list[Policy] = [*warm_start_policies()]
    if not not_covered(instance, batch_time):
        # On top of the queues that it makes shorter; its schedules are those that bounds hold for.
        waiting.append(policies()["srpt"])
    best = None
    for until in (began + WARM_START_SHARE * (end - began), end):
        while waiting and time.monotonic() < until:
            policy = waiting.pop(0)
            schedule = run_policy(policy, instance, Setting(batch_time=batch_time))
            if best is None or better(schedule, best):
                best = schedule
                report.found(schedule, f"policy {policy.name}")
        if until < end:
            _bound(task, batch_time, report, end)
        if task.method.solver == "bound":
            break
    report.done()


def _bound(task: Task, batch_time: BatchTime, report: Report, end: float) -> None:
    assert task.instance is not None
    now = time.monotonic()
    deadline = now + (1 - _RESERVE_SHARE) * (end - now)
    found = bound_in_seconds(task.instance, batch_time, deadline, report)
    source = str(found.certificate["kind"])
    # Once more, with its proof: on the way it would be sent too often.
    report.bound(found.value, source, found.certificate)
    if found.not_covered:
        report.note(found.not_covered)


def compile_kernels() -> None:
    """Compile what searches for prices, or load what has been compiled before."""
    from formulations.bounds.rates import best_rates  # loads NumPy

    # Nothing is searched for among arrivals as late as this, and no clock is looked at.
    late = Instance("late", 9, (Request(0, 10**8, 1, 3),), time_unit="second")
    list(best_rates(late, parse_batch_time(DEFAULT), Room(late.memory), math.inf))
