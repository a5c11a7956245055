"""Local search on priority lists from the best policy's schedule; proves nothing."""

from __future__ import annotations

import numpy as np

from heuristics.improve import improve_list
from heuristics.policy import Ints
from heuristics.simulator import run_in_order
from instances import Instance, Request
from kvopt.engines.job import Job
from kvopt.running.events import Report

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": None, "named": True}


def compile_kernels() -> None:
    """Compile what the search runs, once for requests that come together and once for others."""
    order = np.arange(3, dtype=np.int64)
    for arrival in (0, 1):
        requests = tuple(Request(i, arrival * i, 1, 1 + i) for i in range(3))
        # What comes first takes all of the first time; only then is there time for the moves.
        for seconds in (1e-9, 0.05):
            improve_list(
                Instance("three", 6, requests),
                order,
                seed=0,
                seconds=seconds,
                on_better=lambda _: None,
            )


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
