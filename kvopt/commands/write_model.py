"""``solve.py --write-model``: the model of a formulation as a file for other solvers."""

from __future__ import annotations

import argparse
from pathlib import Path

from formulations.choice import default_formulation
from formulations.valid.windows import start_windows
from instances import Instance
from kvopt.methods.grammar import Method, read_formulation
from kvopt.methods.options import format_formulation
from kvopt.running.execute import execute
from kvopt.running.task import Task


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
    if not name and method.solves is not None:
        name = default_formulation(method.solves, instance, start_windows(instance))
    if not name:
        raise NotWrittenError(f"--write-model: {method.text!r} has no model")
    formulation, switches = read_formulation(name)
    if formulation.kind != "mip":
        raise NotWrittenError(f"--write-model: {formulation.name!r} is not a MIP formulation")
    task = Task(
        instance=instance,
        name=instance.name,
        method=f"{method.solver}:{format_formulation(formulation, switches)}",
        seed=options.seed,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        deadline=deadline,
        model_file=str(Path(options.write_model).absolute()),
    )
    finished = execute(task)
    record = finished.record
    # The size is told before the file is written, which a full disk may end.
    if record.model_columns is None or record.ending != "finished" or finished.failure:
        reason = "; ".join(finished.notes) or record.detail or record.ending
        raise NotWrittenError(f"{options.write_model}: not written: {reason}")
    shown = format_formulation(formulation, switches)
    size = f"{record.model_columns} columns, {record.model_rows} rows"
    return f"wrote {options.write_model}: {shown}, {size}"
