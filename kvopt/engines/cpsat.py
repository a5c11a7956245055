"""OR-tools' CP-SAT: schedules and integer bounds during the search, without certificates."""

import math
from functools import partial
from typing import Any

import ortools
from ortools.sat.python import cp_model

from kvopt.engines.job import EngineJob
from kvopt.engines.parts.model_size import build_in_time
from kvopt.runs.events import EventReport

ENGINE = {"solves": "cp", "named": True, "default": True, "proof": "CP-SAT"}
#: Presolve of inclusions among constraints is off: it cuts off optima of models with at-most-one
#: and linear constraints in 9.15.6755 (OR-tools issue 5293).
PARAMETERS = {"presolve_inclusion_work_limit": 0}
#: Integers up to this have an exact floating-point number.
EXACT_UP_TO = 2**53


def solve(job: EngineJob, report: EventReport) -> None:
    """Build the model of a CP formulation and solve it within the job's limits."""
    program, options = job.formulation, job.options
    windows = program.windows(job.instance, job.upper_bound)
    size = program.size(job.instance, windows)
    build = partial(program.build, job.instance, windows, job.warm_start, **options)
    if (built := build_in_time(job, report, size, build)) is None:
        return
    model, starts = built
    proto = model.proto
    report.built(columns=len(proto.variables), rows=len(proto.constraints), entries=size)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(job.left(), 0.01)
    solver.parameters.num_workers = job.threads
    solver.parameters.random_seed = job.seed
    for name, value in PARAMETERS.items():
        setattr(solver.parameters, name, value)
    exact = sum(windows.latest) <= EXACT_UP_TO
    if exact:
        solver.best_bound_callback = lambda bound: _send_bound(report, bound)
    else:
        report.note("no bound of CP-SAT is taken: its rounds are too large to be exact")
    status = solver.solve(model, _Incumbents(report, starts))
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        report.schedule([solver.value(start) for start in starts])
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
        if exact:
            _send_bound(report, solver.best_objective_bound)
    else:
        report.failure(f"CP-SAT says {solver.status_name(status)} of a feasible instance")
    named = "".join(f" {name}={value}" for name, value in PARAMETERS.items())
    report.done(
        solver=f"CP-SAT {ortools.__version__}{named}",
        nodes=solver.num_branches,
        outcome=solver.status_name(status).lower(),
        solver_seconds=solver.wall_time,
    )


def _send_bound(report: EventReport, bound: float) -> None:
    if math.isfinite(bound):
        report.bound(value=math.ceil(bound - 1e-6), source="CP-SAT")


class _Incumbents(cp_model.CpSolverSolutionCallback):
    def __init__(self, report: EventReport, starts: list[Any]) -> None:
        super().__init__()
        self._report = report
        self._starts = starts

    def on_solution_callback(self) -> None:
        """Send every improving schedule as it is found."""
        self._report.schedule([self.value(start) for start in self._starts])
