"""Any solver that Pyomo's solver interface offers and this machine has, on a Pyomo model."""

import math
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError
from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

from kvopt.engines.job import EngineJob
from kvopt.engines.parts.mip_model import PreparedModel, covered, prepare
from kvopt.engines.parts.pyomo_options import KNOWN, UNKNOWN, SolverSettings
from kvopt.engines.parts.tolerances import CoveredReport
from kvopt.runs.events import EventReport

ENGINE = {"solves": "mip", "named": False}

#: Share of the time left that the solver gets: its schedule comes only at its end.
TIME_SHARE = 0.9


def unavailable(solver: str) -> str:
    """Return one line if this machine has no such solver, else nothing."""
    # Of any other name Pyomo's factory looks for a program, and would run it.
    if solver.startswith("_") or solver not in pyo.SolverFactory:
        return f"solver {solver!r} is not one that Pyomo lists"
    engine = pyo.SolverFactory(solver)
    if not _available(engine):
        return f"solver {solver!r} is not installed (highs and cpsat come with kvopt)"
    # Pyomo's heuristics, as mindtpy and multistart, call other solvers.
    if "load_solutions" not in getattr(engine, "CONFIG", ["load_solutions"]):
        return f"solver {solver!r} is not one of integer programs"
    return ""


def solve(job: EngineJob, report: EventReport) -> None:
    """Build the model of a MIP formulation and solve it within the job's limits."""
    prepared = prepare(job, report)
    if prepared is None:
        return
    model = prepared.model
    report.built(columns=model.nvariables(), rows=model.nconstraints(), entries=0)
    known = KNOWN.get(job.solver, UNKNOWN)
    prepared = covered(job, report, prepared, known.tolerance)
    words = CoveredReport(job, report, job.solver, prepared.activity, known.tolerance)
    words.prices(prepared.windows)
    outcome = _solve(job, report, prepared, known, words)
    report.done(solver=job.solver, nodes=0, outcome=outcome)


def _solve(
    job: EngineJob,
    report: EventReport,
    prepared: PreparedModel,
    known: SolverSettings,
    words: CoveredReport,
) -> str:
    model, engine = prepared.model, pyo.SolverFactory(job.solver)
    if isinstance(engine, PersistentSolver):
        engine.set_instance(model)
    results = engine.solve(model, load_solutions=False, **_settings(job, engine, known))
    condition = str(results.solver.termination_condition)
    if len(results.solution) > 0:
        model.solutions.load_from(results)
        if job.relaxation:
            shown = prepared.activity * known.tolerance < 1
            report.relaxation(float(pyo.value(model.tel)) if shown else None)
        else:
            chosen = [index for index, variable in model.x.items() if (variable.value or 0) > 0.5]
            if len(starts := dict(chosen)) == len(job.instance):
                words.schedule([starts[i] for i in range(len(job.instance))])
    # The solver's bound is on all solutions, never the value of one ...
    if condition == "optimal" or known.states_bound:
        bound = _number(results.problem.lower_bound)
        # ... but for an optimum, which is all that Pyomo's interface appsi_cbc returns.
        if condition == "optimal" and bound == -math.inf:
            bound = _number(results.problem.upper_bound)
        words.bound(bound)
    if condition == "infeasible":
        words.infeasible()
    return condition


def _settings(job: EngineJob, engine: Any, known: SolverSettings) -> dict[str, Any]:
    settings: dict[str, Any] = {"timelimit": max(math.floor(TIME_SHARE * job.left()), 1)}
    if not job.relaxation:
        settings["options"] = known.options
        # Some of Pyomo's interfaces do not say whether they take a warm start.
        if getattr(engine, "warm_start_capable", bool)():
            settings["warmstart"] = True
    return settings


def _available(engine: Any) -> bool:
    try:
        return bool(engine.available(exception_flag=False))
    except (ApplicationError, NameError, AttributeError, RuntimeError):
        return False


def _number(stated: Any) -> float:
    """Return a number that Pyomo states, minus infinity where it states none."""
    try:
        return float(stated)
    except (TypeError, ValueError):
        return -math.inf
