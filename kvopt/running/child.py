"""The process of one run: reads a task from standard input, sends events while its method works.

The events are those of ``kvopt.running.job``, ``refused`` (``text``) for a schedule that the
method's own process did not let pass, and ``certificate`` (``document``) for the proof of a bound.
After ``ready`` the clock of the run starts; ``done`` comes last.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from formulations.bounds.volume import volume_bound
from formulations.choice import default_formulation
from formulations.registry import Formulation
from formulations.windows import start_windows
from heuristics.compiled import warm_up
from heuristics.policy import NotApplicableError, Policy
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError
from instances import Instance
from kvopt.engines.auto import solve_auto
from kvopt.engines.exact import Progress, UnavailableSolverError, solve_exactly
from kvopt.methods.engines import engine_of
from kvopt.methods.grammar import Method, read_formulation, read_method
from kvopt.methods.options import Options, format_formulation
from kvopt.methods.own import OwnMethodError, as_policy_call, load_own
from kvopt.methods.policy import run_policy_call
from kvopt.running.job import Report
from kvopt.running.task import Task
from kvopt.running.telling import where_and_what
from schedules import Schedule

Run = Callable[[Task, Report], None]


def main() -> None:
    """Carry out one task; the process ends at once when its method has."""
    # Libraries print to file descriptor 1; the event stream must hold nothing but events.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _be_the_first_to_go()
    line = sys.stdin.readline()
    report = Report(events, time.monotonic())
    try:
        task = Task.from_line(line)
        run, task = _prepare(task, report)
        report = Report(events, time.monotonic())
        report("ready")
        run(task, report)
    except MemoryError:
        report("error", text="out of memory", outcome="memory_limit")
    except OwnMethodError as error:
        report("error", text=str(error), outcome="error")
    except (NotApplicableError, EndlessLoopError, AdviceError) as error:
        report("error", text=str(error), outcome="no_solution")
    except (Exception, SystemExit) as error:
        report("error", text=where_and_what(error), outcome="error")
    report("peak", bytes=_peak_memory())
    # Neither threads that a method has left behind nor the interpreter's own end are waited for.
    os._exit(0)


def _prepare(task: Task, report: Report) -> tuple[Run, Task]:
    """Import and compile all that the method needs in this process.

    Returns what runs it, and the task with the time that compiling has taken added to its deadline.
    """
    method = read_method(task.method, planned=True, path=task.method_path)
    if method.path is not None:
        own = load_own(method.path)
        if not isinstance(own, Policy):
            return partial(_run_own, own), task
        method = replace(method, call=as_policy_call(own, method.text))
    if method.call is None:
        return partial(_run_engine, method), task
    assert task.instance is not None
    began = time.monotonic()
    report("compiling")
    warm_up(len(task.instance))
    if task.deadline is not None:
        task = replace(task, deadline=task.deadline + time.monotonic() - began)
    return partial(_run_policy, method), task


def _run_own(run: Run, task: Task, report: Report) -> None:
    assert task.instance is not None
    report("bound", value=volume_bound(task.instance), source="volumes")
    run(task, report)


def _run_policy(method: Method, task: Task, report: Report) -> None:
    assert task.instance is not None
    assert method.call is not None
    report("bound", value=volume_bound(task.instance), source="volumes")
    began = time.monotonic()
    schedule = run_policy_call(
        method.call,
        task.instance,
        seed=task.seed,
        deadline=task.end_from(time.monotonic()),
        threads=task.threads,
        memory_limit=task.memory_limit,
    )
    seconds = time.monotonic() - began
    _send_schedule(report, schedule, f"policy {method.call.policy.name}")
    report("done", solver="", nodes=None, solver_seconds=seconds)


def _run_engine(method: Method, task: Task, report: Report) -> None:
    assert task.instance is not None
    deadline = task.end_from(time.monotonic())
    sender = _Sender(report)
    try:
        if method.kind == "auto":
            progress, outcome = solve_auto(
                task.instance,
                deadline=deadline,
                threads=task.threads,
                seed=task.seed,
                memory_limit=task.memory_limit,
                on_progress=sender,
            )
        else:
            formulation, options = _formulation(method, task.instance)
            if formulation is not None:
                report("chosen", text=format_formulation(formulation, options))
            progress, outcome = solve_exactly(
                task.instance,
                method.solver,
                formulation,
                deadline=deadline,
                threads=task.threads,
                seed=task.seed,
                memory_limit=task.memory_limit,
                on_progress=sender,
                options=options,
                prove_anyway=task.prove_anyway,
            )
    except UnavailableSolverError as error:
        report("error", text=str(error), outcome="error")
        return
    sender(progress, True)
    for text in progress.notes:
        report("note", text=text)
    told = {"solver": "", "nodes": None} | progress.engine
    if method.kind == "auto":
        # One engine's time of several.
        told["solver_seconds"] = None
    # An engine that was stopped because nothing was left to be proved has finished.
    stopped = outcome is not None and outcome.ending in ("time_limit", "memory_limit", "crashed")
    report("done", **told | {"ending": outcome.ending if outcome and stopped else "finished"})


def _formulation(method: Method, instance: Instance) -> tuple[Formulation | None, Options]:
    """Return the formulation that is named or chosen by size; None if the engine takes none."""
    kind = engine_of(method.solver).solves
    if kind is None:
        return None, {}
    name = method.formulation or default_formulation(kind, instance, start_windows(instance))
    return read_formulation(name)


class _Sender:
    """Sends what has improved since the last call."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._schedule: Schedule | None = None
        self._bound = (0, "")
        self._refused = 0
        self._relaxation: float | None = None
        self._built = False
        self._certificate: dict[str, Any] | None = None

    def __call__(self, progress: Progress, improved: bool) -> None:
        for text in progress.refused[self._refused :]:
            self._report("refused", text=text)
        self._refused = len(progress.refused)
        if progress.model and not self._built:
            self._built = True
            self._report("built", **progress.model)
        if not improved:
            return
        if (progress.lower_bound, progress.bound_source) != self._bound:
            self._bound = progress.lower_bound, progress.bound_source
            self._report("bound", value=progress.lower_bound, source=progress.bound_source)
        if progress.schedule is not self._schedule and progress.schedule is not None:
            self._schedule = progress.schedule
            _send_schedule(self._report, progress.schedule, progress.found_by)
        if progress.relaxation != self._relaxation:
            self._relaxation = progress.relaxation
            self._report("relaxation", value=progress.relaxation)
        if progress.certificate is not self._certificate:
            self._certificate = progress.certificate
            self._report("certificate", document=progress.certificate)


def _send_schedule(report: Report, schedule: Schedule, found_by: str) -> None:
    more = {key: getattr(schedule, key) for key in ("attempts", "kept") if getattr(schedule, key)}
    report("schedule", starts=list(schedule.starts), found_by=found_by, **more)


def _be_the_first_to_go() -> None:
    """Have Linux choose this process, not the sweep's, when the machine runs out of memory."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return


def _peak_memory() -> int:
    """Return the largest resident memory of this process so far in bytes, 0 where unknown."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


if __name__ == "__main__":
    main()
