"""``--solver auto``: bound, schedule and exact engine side by side, chosen by size."""

from __future__ import annotations

import time

from formulations.registry import formulations
from formulations.windows import Windows, start_windows
from instances import Instance
from runs.exact import ENDINGS, Listener, Progress, start_progress, take_event
from runs.job import Event, Job
from runs.process import Outcome
from runs.team import Stop, run_team

#: Requests up to which CP-SAT's propagation over single tokens is worth its memory.
EXACT_UP_TO = 300
#: Start columns up to which a relaxation with one row a round is solved.
RELAXATION_UP_TO = 400_000
#: Share of the time after which a better order found by a relaxation no longer restarts the
#: local search.
RESTART_UNTIL = 0.6

#: Preferred first: the best of each kind that is there.
_EXACT = ("cpsat-strong", "cpsat")
_TIGHT_RELAXATIONS = ("lp-cliques", "lp-sparse")
_LOOSE_BOUNDS = ("bound-dual", "lp-bucketed")
_SOLVERS = {"mip": "highs", "cp": "cpsat", "bound": "bound", "search": "search"}


def solve_auto(
    instance: Instance,
    *,
    deadline: float,
    threads: int,
    seed: int,
    memory_limit: float | None,
    on_progress: Listener,
) -> tuple[Progress, Outcome | None]:
    """Solve an instance with what suits its size; always returns the best schedule and a bound.

    The quick policies and the volume bound come first.  Then local search on priority lists runs
    beside, by size: CP-SAT (small), a relaxation with one row a round and CP-SAT (medium), or the
    bound from bucketed prices (large).  The order of a relaxation restarts the local search where
    it is better.  All stop when bound and schedule meet, or at the deadline.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``, seconds.
    memory_limit
        Resident memory of each engine's process tree, gigabytes.
    """
    progress = start_progress(instance, deadline, on_progress)
    if progress.schedule is None or progress.closed or progress.notes:
        return progress, None
    started = time.monotonic()

    def job(solver: str, name: str | None = None) -> Job:
        assert progress.schedule is not None
        formulation = formulations()[name] if name else None
        return Job(
            instance=instance,
            solver=solver,
            module=formulation.module if formulation else "",
            relaxation=bool(formulation and formulation.relaxation),
            seconds=max(deadline - time.monotonic(), 0.1),
            threads=threads,
            seed=seed,
            warm_start=list(progress.schedule.starts),
            upper_bound=progress.schedule.tel,
            memory_limit=memory_limit,
        )

    def listen(sender: Job, event: Event) -> list[Job | Stop]:
        name = sender.module.rpartition(".")[2].replace("_", "-")
        improved = take_event(progress, event, sender.solver, name)
        on_progress(progress, improved)
        share = (time.monotonic() - started) / max(deadline - started, 1e-9)
        if improved and event.kind in ("relaxation", "advice") and share < RESTART_UNTIL:
            return [Stop("improve"), job("improve")]
        return []

    names = chosen_formulations(instance, start_windows(instance, progress.schedule.tel))
    jobs = [job(_SOLVERS[formulations()[name].kind], name) for name in names]
    outcomes = run_team(
        [*jobs, job("improve")],
        listen,
        deadline=deadline,
        finished=lambda: progress.closed,
        idle=lambda: on_progress(progress, False),
    )
    for outcome in outcomes:
        if outcome.ending in ("memory_limit", "crashed", "interrupted"):
            note = ENDINGS[outcome.ending].format(detail=outcome.detail)
            if note not in progress.notes:
                progress.notes.append(note)
    return progress, max(outcomes, key=lambda outcome: outcome.peak_memory, default=None)


def chosen_formulations(instance: Instance, windows: Windows) -> list[str]:
    """Return the formulations that run side by side for an instance of this size."""
    chosen = []
    if windows.starts <= RELAXATION_UP_TO:
        chosen.append(_first_known(_TIGHT_RELAXATIONS))
    else:
        chosen.append(_first_known(_LOOSE_BOUNDS))
    if len(instance) <= EXACT_UP_TO:
        exact = _first_known(_EXACT)
        # A small exact model closes before a relaxation would be of use.
        chosen = [exact] if windows.starts <= RELAXATION_UP_TO // 100 else [*chosen, exact]
    return chosen


def _first_known(names: tuple[str, ...]) -> str:
    return next(name for name in names if name in formulations())
