"""A job's MIP, made the same way for HiGHS, every solver that Pyomo knows, and export."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from formulations.windows import Windows, start_windows
from kvopt.engines.job import Job
from kvopt.engines.parts.size import too_large
from kvopt.engines.parts.tolerances import largest_activity, largest_number
from kvopt.running.events import Report


@dataclass(frozen=True)
class Prepared:
    """A model that carries the warm start, and the start windows that volumes prove.

    The model's own windows may be narrower, by the formulation's options.
    """

    model: Any
    windows: Windows

    @cached_property
    def form(self) -> Any:
        """The model in Pyomo's standard form, mixed: columns, rows, matrix, sides and costs."""
        return LinearStandardFormCompiler().write(self.model, mixed_form=True)

    @cached_property
    def activity(self) -> float:
        """R of ``tolerances``, 0 for a relaxation."""
        integer = any(not variable.is_continuous() for variable in self.form.columns)
        return largest_activity(self.form) if integer else 0.0

    @cached_property
    def largest(self) -> float:
        """The largest number of a row (tokens)."""
        return largest_number(self.form)


def prepare(job: Job, report: Report) -> Prepared | None:
    """Build the model of a MIP formulation; None, and said why, where it is too large."""
    program = job.formulation
    known = start_windows(job.instance, job.upper_bound)
    windows = program.windows(job.instance, job.upper_bound, **job.options)
    if reason := too_large(program.size(job.instance, windows), job.memory_limit):
        report.note(reason)
        return None
    model = program.build(job.instance, windows, **job.options)
    if job.relaxation:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    program.set_starts(model, job.instance, job.warm_start)
    return Prepared(model, known)
