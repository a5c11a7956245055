"""Simulated annealing on a list-scheduling encoding, from the best policy's schedule."""

import numpy as np

from heuristics.list_search import SearchBudget, columns_of, improve_starts
from instances import Instance
from kvopt.engines.job import EngineJob
from kvopt.runs.events import EventReport

ENGINE = {"solves": None, "named": True}


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.runs.kernel_compilation``)."""
    del instance, formulation
    return {"annealing"}


def solve(job: EngineJob, report: EventReport) -> None:
    """Search until the job's time is over."""
    improve_starts(
        columns_of(job.instance),
        job.instance.memory,
        np.array(job.warm_start, dtype=np.int64),
        SearchBudget(seconds=job.left()),
        seed=job.seed,
        on_better=lambda starts, _: report.schedule(starts.tolist()),
    )
    report.done(solver="local search", nodes=0, outcome="time limit reached")
