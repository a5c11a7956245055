"""A job's MIP, made the same way for HiGHS, every solver that Pyomo knows, and export."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from formulations.mip._coarse import add_separating_rows, coarse_size, coarsen, unit_of
from formulations.valid.windows import Windows, start_windows
from kvopt.engines.job import Job
from kvopt.engines.parts.size import too_large
from kvopt.engines.parts.tolerances import COVERED, largest_activity, largest_number
from kvopt.running.events import Report
from support.clock import NotBuiltError, built_until


@dataclass(frozen=True)
class Prepared:
    """A model that carries the warm start, and its start windows.

    Attributes
    ----------
    unit
        Tokens in a unit of the memory rows (``formulations.mip._coarse``); beyond 1 the model is a
        relaxation, whose schedules may overflow.
    """

    model: Any
    windows: Windows
    unit: int = 1

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
    """Build the model of a MIP formulation; None, and said why, where it is too large or late."""
    program = job.formulation
    windows = start_windows(job.instance, job.upper_bound)
    if reason := too_large(program.size(job.instance, windows), job.memory_limit):
        report.note(reason)
        return None
    try:
        with built_until(job.end_of_building()):
            model = program.build(job.instance, windows, **job.options)
    except NotBuiltError as error:
        report.note(str(error))
        return None
    if job.relaxation:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    program.set_starts(model, job.instance, job.warm_start)
    return Prepared(model, windows)


def covered(job: Job, report: Report, prepared: Prepared, tolerance: float) -> Prepared | None:
    """Return the model in a unit of tokens in which a solver's tolerance covers its rows.

    That is the model itself where its rows are small enough (``tolerances``), where the tolerance
    is not known, or where its rows in another unit would be too many.  Else its parts that count
    tokens are replaced.  None, and said why, where the time for that was too short.
    """
    if not math.isfinite(tolerance) or prepared.activity * tolerance <= COVERED:
        return prepared
    unit = unit_of(job.formulation, job.instance, most_covered(tolerance))
    entries = coarse_size(job.formulation, prepared.model, job.instance, unit)
    if reason := too_large(entries, job.memory_limit):
        report.note(f"in a coarser unit of tokens {reason}")
        return prepared
    try:
        with built_until(job.end_of_building()):
            coarsen(job.formulation, prepared.model, job.instance, unit, job.warm_start)
    except NotBuiltError as error:
        report.note(str(error))
        return None
    return Prepared(prepared.model, prepared.windows, unit)


def most_covered(tolerance: float) -> int:
    """Return the largest activity of a row that a tolerance covers (``tolerances``)."""
    return math.floor(COVERED / tolerance)


def separated(
    job: Job, prepared: Prepared, schedules: Sequence[Sequence[int]], tolerance: float
) -> Prepared | None:
    """Return the model with rows that keep out schedules which overflow.

    None if it has them, or if the time for them was too short.
    """
    most = most_covered(tolerance)
    try:
        with built_until(job.end_of_building()):
            added = add_separating_rows(prepared.model, job.instance, schedules, most)
    except NotBuiltError:
        return None
    return Prepared(prepared.model, prepared.windows, prepared.unit) if added else None
