"""Large neighbourhood search by CP-SAT from the best policy's schedule; proves nothing."""

from __future__ import annotations

import numpy as np
import ortools
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from formulations.cp import cpsat
from formulations.valid.windows import Windows
from instances import Instance
from kvopt.engines.job import Job
from kvopt.running.events import Report

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": None, "named": True}

#: Requests that are free at a time, least and most; more where sub-problems are closed quickly.
FREE = (5, 16)
#: Seconds for one sub-problem.
SECONDS = 2.0


def solve(job: Job, report: Report) -> None:
    """Repair the warm start until the job's time is over; send better schedules."""
    rng = np.random.default_rng(job.seed)
    starts = list(job.warm_start)
    free = FREE[0]
    solved = 0
    while (left := job.left()) > 0.5 and len(starts) > 1:
        chosen = _neighbours(job.instance, np.array(starts), min(free, len(starts)), rng)
        better, closed = _repair(job, starts, set(chosen.tolist()), min(SECONDS, left))
        solved += 1
        if sum(better) < sum(starts):
            starts = better
            report.schedule(starts)
        # Small neighbourhoods that close say little; large ones that do not close say nothing.
        free = min(FREE[1], free + 1) if closed else max(FREE[0], free - 2)
    report.done(solver=f"CP-SAT {ortools.__version__}", nodes=solved, outcome="time limit reached")


def _neighbours(
    instance: Instance, starts: NDArray[np.int64], free: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return requests that run around one random time; half of the time spread over two times."""
    middles = starts + instance.outputs / 2
    near = middles[rng.integers(len(starts))]
    distance = np.abs(middles - near)
    if rng.integers(2):
        distance = np.minimum(distance, np.abs(middles - middles[rng.integers(len(starts))]))
    # A little noise, so that the same time does not always give the same requests.
    noise = rng.exponential(float(instance.outputs.mean()) / 4, len(starts))
    return np.argsort(distance + noise, kind="stable")[:free]


def _repair(
    job: Job, starts: list[int], chosen: set[int], seconds: float
) -> tuple[list[int], bool]:
    """Return the best starts with all but the chosen requests fixed, and whether that is proved.

    The free requests may start anywhere up to the end of the schedule: later would be worse than
    to leave it as it is.
    """
    requests = job.instance.requests
    end = max(start + request.output for start, request in zip(starts, requests, strict=True))
    windows = Windows(
        earliest=tuple(
            int(request.arrival) if i in chosen else starts[i] for i, request in enumerate(requests)
        ),
        latest=tuple(
            end - request.output if i in chosen else starts[i] for i, request in enumerate(requests)
        ),
        horizon=end,
    )
    model, variables = cpsat.build_model(job.instance, windows, starts)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = job.seed
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return starts, False
    return [solver.value(variable) for variable in variables], status == cp_model.OPTIMAL
