"""``solve.py --write-model``: the model of a formulation as a file for other solvers."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from formulations.choice import default_formulation
from formulations.windows import start_windows
from instances import Instance
from kvopt.engines.exact import start_progress
from kvopt.methods.engines import engine_of
from kvopt.methods.grammar import Method, read_formulation
from kvopt.methods.options import format_formulation
from kvopt.running.job import Event, Job
from kvopt.running.process import run_job


class NotWrittenError(Exception):
    """The model cannot be written; the message is one line."""


def write_model(
    instance: Instance, method: Method, deadline: float, options: argparse.Namespace
) -> str:
    """Write the model of a method's formulation; return one line on it.

    Raises
    ------
    NotWrittenError
        If the method has no MIP, or the model is too large or not built by the deadline.
    """
    name = method.formulation
    kind = engine_of(method.solver).solves if method.kind == "engine" else None
    if not name and kind is not None:
        name = default_formulation(kind, instance, start_windows(instance))
    if not name:
        raise NotWrittenError(f"--write-model: {method.text!r} has no model")
    formulation, switches = read_formulation(name)
    if formulation.kind != "mip":
        raise NotWrittenError(f"--write-model: {formulation.name!r} is not a MIP formulation")
    progress = start_progress(instance, deadline, lambda *_: None)
    assert progress.schedule is not None
    events: list[Event] = []
    job = Job(
        instance=instance,
        solver="export",
        module=formulation.module,
        relaxation=formulation.relaxation,
        seconds=max(deadline - time.monotonic(), 0.1),
        threads=1,
        seed=options.seed,
        warm_start=list(progress.schedule.starts),
        upper_bound=progress.schedule.tel,
        memory_limit=options.memory_limit,
        path=str(Path(options.write_model).absolute()),
        options=switches,
    )
    outcome = run_job(job, events.append)
    by_kind = {event.kind: event.data for event in events}
    if "done" not in by_kind:
        reason = by_kind.get("too_large") or by_kind.get("error") or {"text": outcome.ending}
        raise NotWrittenError(f"{options.write_model}: not written: {reason['text']}")
    built = by_kind["built"]
    shown = format_formulation(formulation, switches)
    return f"wrote {options.write_model}: {shown}, {built['columns']} columns, {built['rows']} rows"
