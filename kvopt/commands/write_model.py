"""``solve.py --write-model``: the model of a formulation as a file for other solvers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from formulations.formulation_choice import default_formulation
from kvopt.methods.option_values import read_formulation
from kvopt.runs.execute import execute
from kvopt.runs.task import FinishedRun, Task
from support.json_files import TEMPORARY


class NotWrittenError(Exception):
    """The model cannot be written; the message is one line."""


def write_model(task: Task, target: str) -> tuple[str, Sequence[str]]:
    """Write the model of a task; return a line on it and warnings, or raise NotWrittenError."""
    method = task.method
    if method.model is None and method.solves is not None:
        assert task.instance is not None
        method = method.on(*read_formulation(default_formulation(method.solves, [task.instance])))
    if method.model is None:
        raise NotWrittenError(f"--write-model: {method.text!r} has no model")
    if method.model.kind != "mip":
        raise NotWrittenError(f"--write-model: {method.model.name!r} is not a MIP formulation")
    try:
        finished = _written(replace(task, method=method), Path(target))
    except OSError as error:
        raise NotWrittenError(f"{target}: not written: {error.strerror}") from None
    of = finished.record
    size = f"{of.model_columns} columns, {of.model_rows} rows, {of.model_entries} nonzeros"
    return f"wrote {target}: {method.formulation}, {size}", list(finished.notes)


def _written(task: Task, path: Path) -> FinishedRun:
    """Write a file in a folder next to its place, and move it there as a whole."""
    with TemporaryDirectory(dir=path.absolute().parent, prefix=TEMPORARY) as folder:
        # Pyomo knows the formats in lower case only.
        file = Path(folder, path.name).with_suffix(path.suffix.lower())
        finished = execute(replace(task, model_file=str(file)))
        record = finished.record
        if record.model_columns is None or record.ending != "finished" or finished.failure:
            reason = "; ".join(finished.notes) or record.detail or record.ending
            raise NotWrittenError(f"{path}: not written: {reason}")
        file.replace(path)
        return finished
