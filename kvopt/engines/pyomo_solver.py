"""Any solver that Pyomo's solver interface offers and this machine has, on a Pyomo model."""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError
from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

from kvopt.engines.job import Job
from kvopt.engines.parts.coarsened import solve_covered
from kvopt.engines.parts.prepared import Prepared, prepare
from kvopt.engines.parts.pyomo_options import KNOWN, UNKNOWN, Known
from kvopt.engines.parts.tolerances import CoveredReport, send_relaxation
from kvopt.running.events import Report

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": "mip", "named": False}

#: Share of the time left that the solver gets: what it found is handed over only at its end.
TIME_SHARE = 0.9


def unavailable(solver: str) -> str:
    """Return one line if this machine has no such solver, else nothing."""
    # Of any other name Pyomo's factory looks for a program, and would run it.
    if solver.startswith("_") or solver not in pyo.SolverFactory:
        return f"solver {solver!r} is not one that Pyomo lists"
    engine = pyo.SolverFactory(solver)
    if not _available(engine):
        return f"solver {solver!r} is not installed (highs and cpsat come with kvopt)"
    # As mindtpy and multistart are, which call other solvers.
    if "load_solutions" not in getattr(engine, "CONFIG", ["load_solutions"]):
        return f"solver {solver!r} is not one of integer programs"
    return ""


def solve(job: Job, report: Report) -> None:
    """Build the model of a MIP formulation and solve it within the job's limits."""
    prepared = prepare(job, report)
    if prepared is None:
        return
    model = prepared.model
    report.built(columns=model.nvariables(), rows=model.nconstraints(), entries=0)
    known = KNOWN.get(job.solver, UNKNOWN)
    search = _Search(job, report, known)
    solve_covered(job, report, prepared, (job.solver, known.tolerance), search.run)
    report.done(solver=job.solver, nodes=0, outcome=search.outcome)


class _Search:
    """A solver's runs on one model after another; ``outcome`` is that of the last one."""

    def __init__(self, job: Job, report: Report, known: Known) -> None:
        self._job, self._report, self._known = job, report, known
        self.outcome = ""

    def run(self, prepared: Prepared, words: CoveredReport) -> bool:
        """Solve a model and send what is found; tell whether the solver calls it optimal."""
        job, model = self._job, prepared.model
        engine = pyo.SolverFactory(job.solver)
        if isinstance(engine, PersistentSolver):
            engine.set_instance(model)
        results = engine.solve(model, load_solutions=False, **self._settings(engine))
        condition = self.outcome = str(results.solver.termination_condition)
        if len(results.solution) > 0:
            model.solutions.load_from(results)
            if job.relaxation:
                value, largest = float(pyo.value(model.tel)), prepared.largest
                tolerance = self._known.tolerance
                send_relaxation(self._report, value, [], largest=largest, tolerance=tolerance)
            else:
                _take_solution(job, model, words)
        # A bound is what the solver says of all solutions, never the value of one ...
        if condition == "optimal" or self._known.states_bound:
            bound = _number(results.problem.lower_bound)
            # ... but of an optimum, which is all that Pyomo's interface appsi_cbc hands over.
            if condition == "optimal" and bound == -math.inf:
                bound = _number(results.problem.upper_bound)
            words.bound(bound)
        if condition == "infeasible":
            words.infeasible()
        return condition == "optimal"

    def _settings(self, engine: Any) -> dict[str, Any]:
        left = TIME_SHARE * self._job.left()
        settings: dict[str, Any] = {"timelimit": max(math.floor(left), 1)}
        if not self._job.relaxation:
            settings["options"] = self._known.options
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


def _take_solution(job: Job, model: Any, words: CoveredReport) -> None:
    """Pass on the values that the model carries now."""
    starts = [-1] * len(job.instance)
    for (request, start), variable in model.x.items():
        if variable.value is not None and variable.value > 0.5:
            starts[request] = start
    if min(starts) >= 0:
        words.schedule(starts)
