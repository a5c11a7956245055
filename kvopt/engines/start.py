"""Start of every engine: the bound from volumes, the quick policies, the formulation."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from formulations.formulation_choice import default_formulation
from formulations.valid.idle_gaps import parts_of
from heuristics.policy import ListPolicy
from heuristics.policy_registry import policies
from heuristics.simulator import run_in_order, run_policy
from instances import Instance
from kvopt.engines.job import EngineJob, tel_of
from kvopt.engines.split import report_volumes, run_parts
from kvopt.methods.option_values import bound_only, format_formulation, read_formulation
from kvopt.runs.events import Event, EventReport, FormulationChosen, RelaxationSolved, ScheduleFound
from kvopt.runs.team import RECEIVED
from schedules import Schedule

if TYPE_CHECKING:
    from kvopt.methods.method import Method
    from kvopt.runs.task import Task

#: Share of the time limit after which no further policy is tried as a warm start.
WARM_START_SHARE = 0.2
#: Finder of the schedule of a relaxation's expected starts.
RELAXATION_ORDER = "order of the LP relaxation"


def run_engine(engine: ModuleType, method: Method, task: Task, report: EventReport) -> None:
    """Solve a task with an engine; the bound from volumes and the quick policies come first.

    Where these meet the run ends, unless the user asks for the engine's proof.
    """
    if task.batch_time:
        # The plan refuses methods without this function.
        engine.solve_in_seconds(task, report)
        return
    instance = task.instance
    assert instance is not None
    if hasattr(engine, "unavailable") and (reason := engine.unavailable(method.solver)):
        report.failure(reason)
        return
    parts = parts_of(instance)
    if not getattr(engine, "SPLIT", True) or (len(parts) == 1 and not parts[0].offset):
        _run_whole(engine, method, task, report, lambda: RECEIVED.starts)
        return

    def begin(whole: Task, report: EventReport) -> None:
        quick_schedule(instance, whole.end_from(time.monotonic()), report)

    run = partial(_run_whole, engine, method)
    run_parts(parts, task, report, begin, run, prove=method.alone)


def _run_whole(
    engine: ModuleType,
    method: Method,
    task: Task,
    report: EventReport,
    beside: Callable[[], list[int] | None] = lambda: None,
) -> None:
    instance, deadline = task.instance, task.end_from(time.monotonic())
    assert instance is not None
    starts = task.warm_start
    if starts is None:
        bound = report_volumes(instance, report)
        schedule = quick_schedule(instance, deadline, report)
        if schedule.tel == bound and not method.alone:
            report.done(method.solver if method.joined else "")
            return
        starts = list(schedule.starts)
    formulation, options = method.model, method.options
    if formulation is None and method.solves is not None:
        # An engine without the split needs one that suits every part.
        parts = [part.instance for part in parts_of(instance)]
        formulation, options = read_formulation(default_formulation(method.solves, parts))
    relaxation, own = bound_only(formulation, options) if formulation else (False, {})
    shown = format_formulation(formulation, options) if formulation else ""
    if shown and not method.formulation:
        report.send(FormulationChosen(text=shown))
    job = EngineJob(
        instance=instance,
        solver=method.solver,
        formulation=formulation.built(own).declared if formulation else None,
        relaxation=relaxation,
        deadline=deadline,
        threads=task.threads,
        seed=task.seed,
        warm_start=starts,
        upper_bound=tel_of(instance, starts),
        memory_limit=task.memory_limit,
        options=formulation.arguments(own) if formulation else {},
        model_file=task.model_file,
        asked=method.on(formulation, options) if formulation and method.joined else None,
        beside=beside,
    )
    searches = method.solver == "improve"
    found_by = "local search" if searches else f"{method.solver} {shown}".strip()
    engine.solve(job, _naming(found_by, instance, report))


def quick_schedule(instance: Instance, deadline: float, report: EventReport) -> Schedule:
    """Return the best schedule of the quick policies, and report each that improves."""
    started = time.monotonic()
    best: Schedule | None = None
    for policy in warm_start_policies():
        schedule = run_policy(policy, instance)
        if best is None or schedule.tel < best.tel:
            best = schedule
            report.schedule(schedule.starts, f"policy {policy.name}")
        if time.monotonic() - started > WARM_START_SHARE * (deadline - started):
            break
    assert best is not None
    return best


def warm_start_policies() -> list[ListPolicy]:
    """Return the policies that know the outputs and need no draws, the most promising first.

    Policies that plan batches take minutes and are left out.  Policies that try every waiting
    request are slow on long queues and come last.
    """
    quick = [
        policy
        for policy in policies().values()
        if isinstance(policy, ListPolicy) and policy.clairvoyant and not policy.randomised
    ]
    return sorted(quick, key=lambda policy: (policy.first_fit, policy.name != "svf", policy.name))


def _naming(found_by: str, instance: Instance, report: EventReport) -> EventReport:
    """Return a report that names the finder, and makes a schedule of a relaxation's order."""

    def sink(event: Event) -> None:
        if isinstance(event, ScheduleFound) and not event.found_by:
            event = event.model_copy(update={"found_by": found_by})
        report.sink(event)
        if isinstance(event, RelaxationSolved) and event.expected_starts:
            order = np.argsort(np.array(event.expected_starts), kind="stable")
            report.schedule(
                run_in_order(instance, order, RELAXATION_ORDER).starts, RELAXATION_ORDER
            )

    return report.through(sink)
