"""The process of one run: reads a task from standard input, sends events while its method works.

It loads what the method needs and nothing else: one engine at most.  After ``Ready`` the clock of
the run starts; ``Peak`` comes last.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from formulations.valid.loads import alone_bound, work_bound
from formulations.valid.volumes import volume_bound
from heuristics import admission, real_time
from heuristics.compiled import interpreting, pays
from heuristics.policy import AdvisedPolicy, NotApplicableError, Policy
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError, Setting, run_policy
from instances.batch_time import parse_batch_time
from instances.compiling import CLOCK
from kvopt.engines.start import run_engine, warm_start_policies
from kvopt.methods.engines import engine_of
from kvopt.methods.method import Method
from kvopt.methods.own import OwnMethodError, as_policy_call, load_own, told_by_line
from kvopt.running.advice import expected_starts, run_policy_call
from kvopt.running.compiled import UNITS, compile_first, missing_units
from kvopt.running.events import Event, Report, event_line
from kvopt.running.task import Task
from kvopt.running.telling import where_and_what

Run = Callable[[Task, Report], None]
#: Requests up to which an interpreted policy takes a second or less.
FIRST_UP_TO = 50_000


def main() -> None:
    """Carry out one task; the process ends at once when its method has."""
    report = open_report()
    with telling_failures(report):
        CLOCK.listen = report.compiling
        task = Task.from_line(sys.stdin.readline())
        run = prepare(task, report)
        CLOCK.stop()
        if task.deadline is not None:
            task = replace(task, deadline=task.deadline + CLOCK.total)
        report.ready()
        run(task, report)
    leave(report)


def open_report() -> Report:
    """Return what sends events to the parent, and set this process up for running methods."""
    # Libraries print to file descriptor 1; the event stream must hold nothing but events.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _be_the_first_to_go()

    def send(event: Event) -> None:
        # Flushed, so that a kill loses none.
        events.write(event_line(event))
        events.flush()

    return Report(send)


@contextmanager
def telling_failures(report: Report) -> Iterator[None]:
    """Send whatever a method raises as its failure, and go on."""
    try:
        yield
    except MemoryError:
        report.failure("out of memory", "memory_limit")
    except OwnMethodError as error:
        if error.__cause__ is not None:  # the row keeps what is printed
            traceback.print_exception(error.__cause__)
        report.failure(str(error), "error")
    except (NotApplicableError, EndlessLoopError, AdviceError) as error:
        report.failure(str(error), "no_solution")
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        report.failure(where_and_what(error), "error")


def leave(report: Report) -> NoReturn:
    """Say the last word and end the process."""
    report.peak(_peak_memory())
    # Neither threads that a method has left behind nor the interpreter's own end are waited for.
    sys.stderr.flush()
    os._exit(0)


def prepare(task: Task, report: Report) -> Run:
    """Import and compile all that the method needs; return what runs it."""
    method = task.method
    if task.model_file:
        return partial(run_engine, importlib.import_module("kvopt.engines.export"), method)
    assert task.instance is not None
    engine = _engine_of(task) if method.kind in ("auto", "engine") else None
    units = _units(task, engine)
    if engine is not None and missing_units(units):
        _answer_first(task, report)
    compile_first(units, report.compiled)
    if pays(len(task.instance)):
        # What was compiled is loaded.
        (real_time if task.batch_time else admission).compile_kernels()
    if method.path is not None:
        # What the file compiles, or waits for, is its own time.
        CLOCK.stop()
        report.own_file()
        own = load_own(method.path)
        if not isinstance(own, Policy):
            return partial(_run_own, own)
        method = replace(method, call=as_policy_call(own, method))
    if method.call is not None:
        if method.call.policy.warm_up is not None:
            method.call.policy.warm_up()
        advised = isinstance(method.call.policy, AdvisedPolicy)
        if advised and task.expected_starts is None:
            importlib.import_module("kvopt.engines.highs")
        return partial(_run_policy, method)
    assert engine is not None
    if task.batch_time:
        engine.compile_kernels()
    return partial(run_engine, engine, method)


def _engine_of(task: Task) -> ModuleType:
    method = task.method
    if task.batch_time:
        return importlib.import_module(UNITS["seconds"])
    return importlib.import_module(engine_of("auto" if method.joined else method.solver).module)


def _units(task: Task, engine: ModuleType | None) -> set[str]:
    """Return the units of kernels that a task runs."""
    instance, call = task.instance, task.method.call
    assert instance is not None
    units = set()
    if pays(len(instance)):
        units.add("clocked-queues" if task.batch_time else "queues")
    if call is not None and call.policy.warm_up is not None:
        units |= {unit for unit in UNITS if UNITS[unit] == call.policy.warm_up.__module__}
    if engine is not None and hasattr(engine, "kernels_of"):
        units |= engine.kernels_of(instance, task.method.formulation)
    return units


def _answer_first(task: Task, report: Report) -> None:
    """Report a bound and a schedule before anything is compiled; the run's clock stands at 0."""
    instance = task.instance
    assert instance is not None
    early = report.through(lambda event: report.sink(event.model_copy(update={"seconds": 0.0})))
    _report_quick_bounds(task, early)
    if len(instance) <= FIRST_UP_TO:
        policy = warm_start_policies()[0]
        batch_time = parse_batch_time(task.batch_time) if task.batch_time else None
        with interpreting():
            schedule = run_policy(policy, instance, Setting(batch_time=batch_time))
        early.found(schedule, f"policy {policy.name}")


def _run_own(own: Run, task: Task, report: Report) -> None:
    _report_quick_bounds(task, report)
    own(task, report)


def _report_quick_bounds(task: Task, report: Report) -> None:
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


def _run_policy(method: Method, task: Task, report: Report) -> None:
    assert task.instance is not None
    assert method.call is not None
    _report_quick_bounds(task, report)
    began = time.monotonic()
    advice = None
    if isinstance(method.call.policy, AdvisedPolicy):
        advice = expected_starts(task, task.end_from(time.monotonic()))
        report.relaxation(None, advice.tolist())
    batch_time = parse_batch_time(task.batch_time) if task.batch_time else None
    with nullcontext() if method.path is None else told_by_line(method.path):
        schedule = run_policy_call(method.call, task.instance, task.seed, advice, batch_time)
    seconds = time.monotonic() - began
    found_by = f"policy {method.call.policy.name}"
    report.found(schedule, found_by)
    report.done(solver_seconds=seconds)


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
