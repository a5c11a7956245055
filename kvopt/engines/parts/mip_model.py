"""A job's MIP, made the same way for HiGHS, every solver that Pyomo knows, and export."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from formulations.mip import _rows_on_sets, ilp
from formulations.valid.windows import Windows, start_windows
from kvopt.engines.job import EngineJob
from kvopt.engines.parts.model_size import build_in_time
from kvopt.engines.parts.tolerances import COVERED, largest_activity
from kvopt.runs.events import EventReport


@dataclass(frozen=True)
class PreparedModel:
    """A model that carries the warm start, and its start windows."""

    model: Any
    windows: Windows

    @cached_property
    def form(self) -> Any:
        """The model in Pyomo's standard form, mixed: columns, rows, matrix, sides and costs."""
        return LinearStandardFormCompiler().write(self.model, mixed_form=True)

    @cached_property
    def activity(self) -> float:
        """R of ``tolerances``."""
        return largest_activity(self.form)


def prepare(job: EngineJob, report: EventReport) -> PreparedModel | None:
    """Build the model of a MIP formulation; None where it is too large or late, and report why."""
    program = job.formulation
    windows = start_windows(job.instance, job.upper_bound)
    size = program.size(job.instance, windows)
    model = build_in_time(
        job, report, size, partial(program.build, job.instance, windows, **job.options)
    )
    if model is None:
        return None
    if job.relaxation:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    program.set_starts(model, job.instance, job.warm_start)
    return PreparedModel(model, windows)


def covered(
    job: EngineJob, report: EventReport, prepared: PreparedModel, tolerance: float
) -> PreparedModel:
    """Return the model, or a model of ``_sets`` if a solver's tolerance does not cover its rows."""
    most, windows = COVERED / tolerance, prepared.windows
    fits = job.relaxation or prepared.activity <= most
    rows = None if fits else _rows_on_sets.rows_on_sets(job.instance, most)
    if rows is None:
        return prepared
    size = sum(len(own) * len(windows.rounds(i)) for row, _ in rows for i, own in row.items())
    model = build_in_time(
        job, report, size, partial(_rows_on_sets.build_model, job.instance, windows, rows)
    )
    if model is None:
        return prepared
    report.note("memory is a row for each set of requests, in rounds: tokens exceed the tolerance")
    ilp.set_starts(model, job.instance, job.warm_start)
    return PreparedModel(model, windows)
