"""Local search on priority lists from the best policy's schedule; proves nothing."""

from __future__ import annotations

import numpy as np

from heuristics.local_search import compile_kernels, improve_list
from heuristics.policy import Ints
from heuristics.simulator import run_in_order
from kvopt.engines.job import Job
from kvopt.running.events import Report

__all__ = ["ENGINE", "compile_kernels", "solve"]

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": None, "named": True}


def solve(job: Job, report: Report) -> None:
    """Search until the job's time is over."""
    instance = job.instance

    def send(order: Ints) -> None:
        schedule = run_in_order(instance, order, "local search")
        report.schedule(list(schedule.starts))

    improve_list(
        instance,
        np.argsort(np.array(job.warm_start), kind="stable"),
        seed=job.seed,
        seconds=job.left(),
        on_better=send,
    )
    report.done(solver="local search", nodes=0, outcome="time limit reached")
