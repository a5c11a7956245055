"""Runs a MIP solver on a job's model, or on coarse ones until their optimum is feasible."""

from __future__ import annotations

from collections.abc import Callable

from kvopt.engines.job import Job
from kvopt.engines.parts.prepared import Prepared, covered, separated
from kvopt.engines.parts.tolerances import CoveredReport
from kvopt.running.events import Report


def solve_covered(
    job: Job,
    report: Report,
    prepared: Prepared,
    solver: tuple[str, float],
    run: Callable[[Prepared, CoveredReport], bool],
) -> None:
    """Run a solver until it is done, or the time is over; why that proves what it does: tolerances.

    Parameters
    ----------
    solver
        The source of its bounds, and the largest of its tolerances.
    run
        Solves a model once, sends what is found, and tells whether the solver calls it optimal.
    """
    source, tolerance = solver
    model = covered(job, report, prepared, tolerance)
    if model is None:
        return
    words = CoveredReport(job, report, source, model.activity, tolerance, model.unit)
    words.prices(model.windows)
    while run(model, words) and model.unit > 1 and not words.settled and job.left() > 0:
        following = separated(job, model, words.overflowing(), tolerance)
        if following is None:
            break
        model = following
    words.close()
