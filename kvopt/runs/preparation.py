"""Make the process of a run ready for its method: load and compile what the method needs.

While kernels are compiled, once on a machine, the clock of the run stands at 0, and the run has a
bound and a schedule already.
"""

import importlib
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import ModuleType

from formulations.valid.volume_bounds import volume_bound
from heuristics import admission
from heuristics.kernel_compiler import compiling_pays, interpreting
from heuristics.policy import Policy
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from instances.batch_time import BatchTime, parse_batch_time
from kvopt.engines.start import run_engine, warm_start_policies
from kvopt.methods.custom_program import load_program
from kvopt.methods.custom_python import as_policy_call, load_own, naming_line
from kvopt.methods.engine_table import engine_of
from kvopt.methods.method import Method
from kvopt.methods.python_files import is_python
from kvopt.runs.advice import choose_relaxation_method, expected_starts, run_policy_call
from kvopt.runs.events import Compiling, CustomFileLoading, EventReport
from kvopt.runs.kernel_compilation import UNITS, compile_first, missing_units
from kvopt.runs.serving_imports import quick_bounds
from kvopt.runs.task import Task
from support.kernel_cache import CLOCK

Run = Callable[[Task, EventReport], None]
#: Requests up to which an interpreted policy takes a second or less.
_FIRST_UP_TO = 50_000


def prepare(task: Task, report: EventReport) -> Run:
    """Import and compile all that the method needs; return what runs it."""
    method, instance = task.method, task.instance
    if task.model_file:
        return partial(run_engine, importlib.import_module("kvopt.engines.export"), method)
    assert instance is not None
    #: The method that an engine computes, or the relaxation that advises a policy.
    computed = method if method.kind in ("auto", "engine") else None
    if method.advised and task.expected_starts is None:
        computed = choose_relaxation_method(instance)
    engine = None if computed is None else _engine_of(task, computed)
    units = _units(task, instance, engine, computed)
    if computed is method and missing_units(units):
        _answer_first(task, instance, report)
    compile_first(units, lambda done, of: report.send(Compiling(goes_on=True, done=done, of=of)))
    if compiling_pays(len(instance)):  # what was compiled is loaded
        admission.compile_kernels()
    for library in _libraries(computed, units):
        importlib.import_module(library)
    if method.path is not None:
        # The file's compiling and waiting are in its time.
        CLOCK.stopped = True
        report.send(CustomFileLoading())
        own = load_own(method.path) if is_python(method.path) else load_program(method.path)
        if not isinstance(own, Policy):
            return partial(_run_own, own, instance)
        method = replace(method, call=as_policy_call(own, method))
    if method.call is not None:
        if method.call.policy.warm_up is not None:
            method.call.policy.warm_up()
        return partial(_run_policy, method, instance)
    assert engine is not None
    if task.batch_time:
        engine.compile_kernels()
    return partial(run_engine, engine, method)


def _answer_first(task: Task, instance: Instance, report: EventReport) -> None:
    """Report a bound and a schedule at second 0."""
    first = report.through(lambda event: report.sink(event.model_copy(update={"seconds": 0.0})))
    _report_quick_bounds(task, instance, first)
    if len(instance) <= _FIRST_UP_TO:
        policy = warm_start_policies()[0]
        with interpreting():
            schedule = run_policy(policy, instance, RunSetting(batch_time=_batch_time(task)))
        first.found(schedule, f"policy {policy.name}")


def _batch_time(task: Task) -> BatchTime | None:
    return parse_batch_time(task.batch_time) if task.batch_time else None


def _report_quick_bounds(task: Task, instance: Instance, report: EventReport) -> None:
    """Report the bounds that cost next to nothing; volumes bound rounds, loads seconds."""
    if not task.batch_time:
        report.bound(volume_bound(instance), "volumes")
        return
    for found in quick_bounds(instance, task.batch_time):
        report.bound(*found)


def _engine_of(task: Task, method: Method) -> ModuleType:
    if task.batch_time and method is task.method:
        return importlib.import_module(UNITS["seconds"])
    return importlib.import_module(engine_of("auto" if method.joined else method.solver).module)


def _units(
    task: Task, instance: Instance, engine: ModuleType | None, computed: Method | None
) -> set[str]:
    """Return the units of kernels that a task runs."""
    units, call = set(), task.method.call
    if compiling_pays(len(instance)):
        units.add("queues")
    if call is not None and call.policy.warm_up is not None:
        units |= {unit for unit in UNITS if UNITS[unit] == call.policy.warm_up.__module__}
    if engine is not None and computed is not None and hasattr(engine, "kernels_of"):
        units |= engine.kernels_of(instance, computed.formulation)
    return units


def _libraries(method: Method | None, units: set[str]) -> tuple[str, ...]:
    """Return libraries that an engine is sure to use and its file does not import at its top."""
    if method is None or method.kind != "engine" or method.joined:
        return ()
    if method.solves == "mip":  # Pyomo loads them with its first model, in half a second
        return ("scipy.sparse", "scipy.spatial", "scipy.stats")
    if not units:
        return ()
    more = ("highspy",) if method.solves in ("bound", "search") else ()
    return ("numba", "scipy.sparse", *more)


def _run_own(own: Run, instance: Instance, task: Task, report: EventReport) -> None:
    _report_quick_bounds(task, instance, report)
    own(task, report)


def _run_policy(method: Method, instance: Instance, task: Task, report: EventReport) -> None:
    assert method.call is not None
    _report_quick_bounds(task, instance, report)
    started = time.monotonic()
    advice = None
    if method.advised:
        advice = expected_starts(task, task.end_from(started))
        report.relaxation(None, advice.tolist())
    with nullcontext() if method.path is None else naming_line(method.path):
        schedule = run_policy_call(method.call, instance, task.seed, advice, _batch_time(task))
    seconds = time.monotonic() - started
    report.found(schedule, f"policy {method.call.policy.name}")
    report.done(solver_seconds=seconds)
