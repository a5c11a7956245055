"""One instance, one exact engine: warm start, engine process, best schedule and bound so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formulations.bounds.volume import volume_bound
from formulations.registry import Formulation
from formulations.spec import Options, format_formulation
from heuristics.policy import ListPolicy
from heuristics.registry import policies
from heuristics.simulator import run_in_order, run_policy
from instances import Instance
from kvopt.running.job import Event, Job
from kvopt.running.process import Outcome, run_job
from kvopt.running.stated_optimum import dispute
from schedules import Schedule, Status, check_schedule, make_schedule
from schedules.evidence import OWN_SEARCH
from schedules.model import better

#: Share of the time limit after which no further policy is tried as a warm start.
WARM_START_SHARE = 0.2


class UnavailableSolverError(Exception):
    """The named solver is not one that this machine has."""


@dataclass
class Progress:
    """The best schedule and bound so far, and how they came about.

    Attributes
    ----------
    schedule
        The best checked schedule; None until the first one.  One that keeps tokens over evictions
        gives way to any that does not: it solves an easier problem, has no gap and closes nothing.
    lower_bound
        An integer that no TEL is below (rounds), with its source.
    refused
        One line for every schedule of a method that the checker refused.
    notes
        One line for everything that a reader of the result should know.
    certificate
        The strongest bound that comes with its proof (``formulations.bounds.certificate``), as
        JSON; its value may be less than ``lower_bound``.
    """

    instance: Instance
    schedule: Schedule | None = None
    found_by: str = ""
    lower_bound: int = 0
    bound_source: str = ""
    relaxation: float | None = None
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    model: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None

    @property
    def upper_bound(self) -> int | None:
        """The TEL that OPT is at most (rounds); None before a schedule that keeps no tokens."""
        if self.schedule is None or self.schedule.keeps_tokens:
            return None
        return self.schedule.tel

    @property
    def gap(self) -> float | None:
        """Return (UB − LB) / UB, None before the first UB."""
        upper = self.upper_bound
        if upper is None:
            return None
        return (upper - self.lower_bound) / upper if upper else 0.0

    @property
    def closed(self) -> bool:
        """Whether the bound meets the schedule, in integers."""
        return self.upper_bound is not None and self.lower_bound >= self.upper_bound

    def offer(self, schedule: Schedule, found_by: str) -> bool:
        """Take a schedule if the checker accepts it and it is better; tell whether it was."""
        if self.schedule is not None and not better(schedule, self.schedule):
            return False
        verdict = check_schedule(self.instance, schedule)
        if not verdict.valid:
            self.refused.append(f"{found_by}: {verdict.reason}")
            return False
        self.schedule = schedule
        self.found_by = found_by
        return True

    def raise_bound(self, value: int, source: str) -> bool:
        """Take a lower bound if it is better; tell whether it was."""
        # An engine's own proof of what volumes or prices have proved is told: one more witness.
        known = self.bound_source in OWN_SEARCH.values()
        witness = self.closed and value == self.lower_bound and source in OWN_SEARCH.values()
        if value <= self.lower_bound and (known or not witness):
            return False
        self.lower_bound = value
        self.bound_source = source
        return True

    def close(self) -> str:
        """Hold schedule and bound against the optimum that the instance's file states.

        Returns one line if they exclude each other, else nothing.  A bound that may be wrong
        itself is withdrawn then: what is left is certified.
        """
        found = dispute(
            self.instance,
            self.upper_bound,
            self.lower_bound,
            self.bound_source,
            self.certificate,
        )
        if found is not None and not found.settled:
            self.lower_bound, self.bound_source = volume_bound(self.instance), "volumes"
        return "" if found is None else found.text


def warm_start_policies() -> list[ListPolicy]:
    """Return the policies that know the outputs and need no draws, the most promising first.

    Policies that plan batches are left out, since some take minutes on instances whose model an
    engine builds in seconds; those that try all that fit come last, since they are slow on long
    queues, and on large instances the time is over before the list is.
    """
    quick = [
        policy
        for policy in policies().values()
        if isinstance(policy, ListPolicy) and policy.clairvoyant and not policy.randomised
    ]
    return sorted(quick, key=lambda policy: (policy.first_fit, policy.name != "svf", policy.name))


#: Called with the progress and whether it just improved.
Listener = Callable[[Progress, bool], None]


def solve_exactly(
    instance: Instance,
    solver: str,
    formulation: Formulation,
    *,
    deadline: float,
    threads: int,
    seed: int,
    memory_limit: float | None,
    on_progress: Listener,
    options: Options | None = None,
    prove_anyway: bool = False,
) -> tuple[Progress, Outcome | None]:
    """Solve an instance with one engine and formulation; always returns the best so far.

    Parameters
    ----------
    solver
        ``highs``, ``cpsat`` or a name of Pyomo's ``SolverFactory``.
    deadline
        On the clock of ``time.monotonic``, seconds.
    memory_limit
        Resident memory of the engine's process tree, gigabytes.
    options
        Options of the formulation that differ from their defaults.
    prove_anyway
        Start the engine also where the volume bound meets the best policy.

    Raises
    ------
    UnavailableSolverError
        If the solver is not installed.
    """
    options = options or {}
    progress = start_progress(instance, deadline, on_progress)
    if progress.schedule is None or (progress.closed and not prove_anyway):
        return progress, None
    method = format_formulation(formulation, options)

    def on_event(event: Event) -> None:
        on_progress(progress, take_event(progress, event, solver, method))

    job = Job(
        instance=instance,
        solver=solver,
        module=formulation.module,
        relaxation=formulation.relaxation,
        seconds=max(deadline - time.monotonic(), 0.0),
        threads=threads,
        seed=seed,
        warm_start=list(progress.schedule.starts),
        upper_bound=progress.schedule.tel,
        memory_limit=memory_limit,
        options=options,
    )
    outcome = run_job(job, on_event, idle=lambda: on_progress(progress, False))
    if outcome.ending != "finished":
        progress.notes.append(ENDINGS[outcome.ending].format(detail=outcome.detail))
    return progress, outcome


def start_progress(instance: Instance, deadline: float, on_progress: Listener) -> Progress:
    """Return the volume bound and the best schedule of the quick policies.

    On Ctrl-C the best so far is returned, with a note.
    """
    progress = Progress(instance)
    progress.raise_bound(volume_bound(instance), "volumes")
    started = time.monotonic()
    try:
        for policy in warm_start_policies():
            if progress.offer(run_policy(policy, instance), f"policy {policy.name}"):
                on_progress(progress, True)
            if time.monotonic() - started > WARM_START_SHARE * (deadline - started):
                break
    except KeyboardInterrupt:
        progress.notes.append("interrupted while looking for a warm start")
    return progress


#: What a reader is told of a process that did not finish by itself.
ENDINGS = {
    "time_limit": "the engine was stopped at the time limit",
    "memory_limit": "the engine was stopped at the memory limit",
    "crashed": "the engine's process died ({detail})",
    "interrupted": "interrupted by the user",
}


def take_event(progress: Progress, event: Event, solver: str, formulation: str) -> bool:
    """Take one event of an engine; tell whether schedule or bound improved."""
    data = event.data
    if event.kind == "schedule":
        beside = {"improve": "local search", "repair": "repair by CP-SAT"}
        method = beside.get(solver) or f"{solver} {formulation}"
        try:
            schedule = make_schedule(progress.instance, data["starts"], method)
        except ValueError as error:
            progress.refused.append(f"{method}: {' '.join(str(error).split())[:200]}")
            return False
        return progress.offer(schedule, method)
    if event.kind == "bound":
        _keep_certificate(progress, data.get("certificate"))
        return progress.raise_bound(data["value"], data["source"])
    if event.kind in ("relaxation", "advice"):
        progress.relaxation = data.get("value", progress.relaxation)
        order = np.argsort(np.array(data["expected_starts"]), kind="stable")
        schedule = run_in_order(progress.instance, order, "order of the LP relaxation")
        return progress.offer(schedule, "order of the LP relaxation")
    if event.kind == "built":
        progress.model = data | {"seconds": event.seconds}
    elif event.kind == "done":
        progress.engine = data
    elif event.kind == "unavailable":
        raise UnavailableSolverError(data["text"])
    elif event.kind in ("too_large", "note", "error"):
        progress.notes.append(data["text"])
    return False


def _keep_certificate(progress: Progress, offered: dict[str, Any] | None) -> None:
    known = progress.certificate
    if offered and (known is None or offered["value"] > known["value"]):
        progress.certificate = offered


def final_status(progress: Progress, outcome: Outcome | None) -> Status:
    """Return the status of a run from DESIGN section 6's closed list."""
    if progress.schedule is not None:
        if progress.upper_bound is not None and progress.lower_bound > progress.upper_bound:
            return "error"
        return "optimal" if progress.closed else "feasible"
    if progress.refused:
        return "refused"
    if outcome is None:
        return "no_solution"
    endings: dict[str, Status] = {
        "time_limit": "time_limit",
        "memory_limit": "memory_limit",
        "crashed": "crashed",
    }
    return endings.get(outcome.ending, "no_solution")
