"""The Pyomo model of a job, made the same way for every solver and for export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from formulations.valid.windows import Windows, start_windows
from kvopt.engines.job import Job
from kvopt.engines.parts.loading import load_formulation
from kvopt.engines.parts.size import too_large
from kvopt.running.events import Report


@dataclass(frozen=True)
class Prepared:
    """A model that carries the warm start, and the start windows that volumes prove.

    The model's own windows may be narrower, by the formulation's options.
    """

    model: Any
    windows: Windows


def prepare(job: Job, report: Report) -> Prepared | None:
    """Build the model of a MIP formulation; None, and said why, where it is too large."""
    formulation, options = load_formulation(job)
    known = start_windows(job.instance, job.upper_bound)
    windows = known
    if hasattr(formulation, "start_windows"):
        windows = formulation.start_windows(job.instance, job.upper_bound, **options)
    if reason := too_large(formulation.model_size(job.instance, windows), job.memory_limit):
        report.note(reason)
        return None
    model = formulation.build_model(job.instance, windows, **options)
    if job.relaxation and not getattr(formulation, "RELAXATION", False):
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    formulation.set_starts(model, job.instance, job.warm_start)
    return Prepared(model, known)
