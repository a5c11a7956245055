"""Large-neighbourhood repair: better schedules only, every one valid."""

from __future__ import annotations

import pytest

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances.families import am1, am2
from kvopt.running.supervise import supervise
from tests.kvopt.sweep_tools import task_of


@pytest.mark.slow("waits")
def test_repair_improves_a_bad_schedule() -> None:
    """From first come, first served, with arrivals and without, every schedule sent is better."""
    for instance in (am1.generate(seed=2, n=14), am2.generate(seed=2)):
        start = run_policy(policies()["fcfs"], instance)
        task = task_of(instance, "repair", time_limit=8.0, warm_start=list(start.starts))
        run = supervise(task, 13.0)
        assert run.outcome.ending == "finished"
        # Every one was checked, and taken only where it is better.
        tels = [tel for _, tel in run.state.incumbents]
        assert not run.state.refused
        assert tels
        assert start.tel > tels[0]
        assert tels == sorted(tels, reverse=True)
