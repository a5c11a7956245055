"""Bound, local search and exact engine side by side, chosen by size (the default)."""

from __future__ import annotations

import time
from itertools import pairwise

from formulations.patterns import searchable_states
from formulations.registry import formulations
from formulations.windows import Windows, start_windows
from instances import Instance
from kvopt.engines.exact import ENDINGS, Listener, Progress, start_progress, take_event
from kvopt.methods.engines import default_engine
from kvopt.running.job import Event, Job
from kvopt.running.process import Outcome
from kvopt.running.team import Stop, run_team

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": None, "named": True}

#: Requests up to which the exact search has a chance to finish.
EXACT_UP_TO = 30
#: Requests up to which CP-SAT repairs parts of the schedule once the bound has ended.
REPAIR_UP_TO = 200
#: Start columns up to which a relaxation with one row a round is solved.
RELAXATION_UP_TO = 400_000
#: Steps of one search for the best pattern up to which patterns are priced.
PATTERN_WORK_UP_TO = 40_000_000
#: Share of the time after which a better order found by a relaxation no longer restarts the
#: local search.
RESTART_UNTIL = 0.6


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
    beside, by size: the exact search (small), the relaxation with window groups and then the prices
    of patterns (medium), or the bound from prices on a time grid (large).  The order of a
    relaxation restarts the local search where it is better.  Where the bounds have ended, CP-SAT
    repairs parts of the best schedule (small and medium), or a second local search with another
    seed takes its core.  All stop when bound and schedule meet, or at the deadline.

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

    def job(solver: str, name: str | None = None, more_seed: int = 0) -> Job:
        assert progress.schedule is not None
        formulation = formulations()[name] if name else None
        return Job(
            instance=instance,
            solver=solver,
            module=formulation.module if formulation else "",
            relaxation=bool(formulation and formulation.relaxation),
            seconds=max(deadline - time.monotonic(), 0.1),
            threads=threads,
            seed=(seed + more_seed) % 2**31,
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
        if event.kind == "done" and sender.solver not in ("improve", "repair"):
            if progress.closed:
                return []
            if next_name := following.pop(name, None):
                return [job(_solver(next_name), next_name)]
            small = len(instance) <= REPAIR_UP_TO
            return [job("repair") if small else job("improve", more_seed=1)]
        return []

    first, *more = chosen_formulations(instance, start_windows(instance, progress.schedule.tel))
    following = dict(pairwise([first, *more]))
    outcomes = run_team(
        [job(_solver(first), first), job("improve")],
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


def _solver(formulation: str) -> str:
    return default_engine(formulations()[formulation].kind).name


def chosen_formulations(instance: Instance, windows: Windows) -> list[str]:
    """Return the formulations that run beside the local search at this size, one after another."""
    if len(instance) <= EXACT_UP_TO:
        return ["layers"]
    if windows.starts > RELAXATION_UP_TO:
        return ["bound-dual"]
    # The groups are priced in seconds; the patterns give more and take minutes.
    patterns = searchable_states(instance, PATTERN_WORK_UP_TO) is not None
    return ["lp-cliques", "bound-patterns"] if patterns else ["lp-cliques"]
