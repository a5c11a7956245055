"""Jobs side by side: events of all, more jobs on demand, one end for all."""

from __future__ import annotations

import time

from formulations.registry import formulations
from instances import Instance, Request
from instances.families import am1
from kvopt.running.job import Event, Job
from kvopt.running.team import run_team

PAIR = Instance("pair", 5, (Request(0, 0, 1, 2), Request(1, 3, 0, 4)))


def _job(instance: Instance, solver: str, name: str = "ilp", seconds: float = 20.0) -> Job:
    return Job(
        instance=instance,
        solver=solver,
        module=formulations()[name].module,
        relaxation=False,
        seconds=seconds,
        threads=1,
        seed=0,
        warm_start=[int(request.arrival) * 100 for request in instance.requests],
        upper_bound=10**6,
    )


def test_two_engines_side_by_side_and_a_third_on_demand() -> None:
    """HiGHS and CP-SAT run at once; the first bound of one starts another job."""
    events: list[tuple[str, Event]] = []
    extra = [_job(PAIR, "cpsat", "cpsat-time")]

    def listen(job: Job, event: Event) -> list[Job]:
        events.append((job.module, event))
        return [extra.pop()] if event.kind == "bound" and extra else []

    jobs = [_job(PAIR, "highs"), _job(PAIR, "cpsat", "cpsat")]
    outcomes = run_team(jobs, listen, deadline=time.monotonic() + 30, finished=lambda: False)
    assert [outcome.ending for outcome in outcomes] == ["finished"] * 3
    done = {module for module, event in events if event.kind == "done"}
    assert {module.rpartition(".")[2] for module in done} == {"ilp", "cpsat", "cpsat_time"}


def test_all_stop_when_it_is_enough() -> None:
    """As soon as the listener has what it wants, what still runs is stopped."""
    instance = am1.generate(seed=0)
    seen: list[Event] = []

    def listen(job: Job, event: Event) -> list[Job]:
        del job
        seen.append(event)
        return []

    outcomes = run_team(
        [_job(instance, "improve", seconds=60), _job(PAIR, "highs")],
        listen,
        deadline=time.monotonic() + 60,
        finished=lambda: any(event.kind == "done" for event in seen),
    )
    assert sorted(outcome.ending for outcome in outcomes) in (
        ["finished", "stopped"],
        ["stopped", "stopped"],
    )


def test_the_deadline_ends_all() -> None:
    """A process that goes on is killed at the deadline, and its schedules are kept."""
    instance = am1.generate(seed=0)
    schedules: list[list[int]] = []

    def listen(job: Job, event: Event) -> list[Job]:
        del job
        if event.kind == "schedule":
            schedules.append(event.data["starts"])
        return []

    started = time.monotonic()
    outcomes = run_team(
        [_job(instance, "improve", seconds=60)],
        listen,
        deadline=started + 12,
        finished=lambda: False,
        grace=0.2,
    )
    assert [outcome.ending for outcome in outcomes] == ["time_limit"]
    assert time.monotonic() - started < 20
    assert schedules
