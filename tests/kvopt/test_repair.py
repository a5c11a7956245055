"""Large-neighbourhood repair: better schedules only, every one valid."""

from __future__ import annotations

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances.families import am1, am2
from kvopt.running.job import Event, Job
from kvopt.running.process import run_job
from schedules import check_schedule, make_schedule


def test_repair_improves_a_bad_schedule() -> None:
    """From first come, first served, with arrivals and without, every schedule sent is better."""
    for instance in (am1.generate(seed=2, n=14), am2.generate(seed=2)):
        start = run_policy(policies()["fcfs"], instance)
        events: list[Event] = []
        job = Job(
            instance=instance,
            solver="repair",
            module="",
            relaxation=False,
            seconds=8.0,
            threads=1,
            seed=0,
            warm_start=list(start.starts),
            upper_bound=start.tel,
        )
        outcome = run_job(job, events.append, grace=5)
        assert outcome.ending == "finished"
        tels = [start.tel]
        for event in events:
            if event.kind == "schedule":
                schedule = make_schedule(instance, event.data["starts"], "repair")
                assert check_schedule(instance, schedule).valid
                tels.append(schedule.tel)
        assert tels == sorted(tels, reverse=True)
        assert tels[-1] < tels[0]
