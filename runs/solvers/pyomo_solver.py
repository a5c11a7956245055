"""Any solver that Pyomo's solver interface offers and this machine has, on a Pyomo model."""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError

from formulations.windows import start_windows
from runs.job import Job, Report
from runs.solvers.loading import load_formulation
from runs.solvers.size import too_large

#: A bound stated in floating point is lowered by this share before it is rounded up.
BOUND_MARGIN = 1e-5


def solve(job: Job, report: Report) -> None:
    """Build the model of a MIP formulation and solve it within the job's limits."""
    engine = pyo.SolverFactory(job.solver)
    if not _available(engine):
        report(
            "unavailable",
            text=f"solver {job.solver!r} is not installed (highs and cpsat come with kvopt)",
        )
        return
    formulation, options = load_formulation(job)
    windows = start_windows(job.instance, job.upper_bound)
    if reason := too_large(formulation.model_size(job.instance, windows), job.memory_limit):
        report("too_large", text=reason)
        return
    model = formulation.build_model(job.instance, windows, **options)
    formulation.set_starts(model, job.instance, job.warm_start)
    report("built", columns=model.nvariables(), rows=model.nconstraints(), entries=0)
    settings: dict[str, Any] = {"timelimit": max(math.floor(job.seconds - report.elapsed()), 1)}
    if engine.warm_start_capable() and not job.relaxation:
        settings["warmstart"] = True
    results = engine.solve(model, load_solutions=False, **settings)
    condition = str(results.solver.termination_condition)
    if len(results.solution) > 0:
        model.solutions.load_from(results)
        _send_solution(job, report, model)
    # Only a proof of optimality makes the stated bound one: at a limit some interfaces leave
    # the incumbent's value in its place.
    if condition == "optimal":
        value = float(pyo.value(model.tel))
        if job.relaxation:
            report("relaxation", value=value)
        margin = BOUND_MARGIN * max(1.0, abs(value))
        report("bound", value=math.ceil(value - margin), source=job.solver)
    report("done", solver=job.solver, nodes=0, outcome=condition)


def _available(engine: Any) -> bool:
    try:
        return bool(engine.available(exception_flag=False))
    except (ApplicationError, NameError, AttributeError, RuntimeError):
        return False


def _send_solution(job: Job, report: Report, model: Any) -> None:
    if job.relaxation:
        return
    starts = [-1] * len(job.instance)
    for (request, start), variable in model.x.items():
        if variable.value is not None and variable.value > 0.5:
            starts[request] = start
    if min(starts) >= 0:
        report("schedule", starts=starts)
