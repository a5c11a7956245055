"""Runs any registered policy in a test, whatever it needs."""

from __future__ import annotations

import numpy as np

from heuristics.policy import AdvisedPolicy
from heuristics.registry import policies
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import Setting, run_policy
from instances import Instance
from schedules import Schedule

#: Policies that may loop for ever by their own definition (jaillet2025_v1 sec. 7).
MAY_LOOP = {"alpha-greedy"}


def run(name: str, instance: Instance, seed: int = 0) -> Schedule | None:
    """Return the schedule, or None where the policy says that it cannot serve the instance.

    A policy that needs the solution of a relaxation gets the volumes in its place: any numbers
    will do to test how it uses them.
    """
    policy = policies()[name]
    advice = None
    if isinstance(policy, AdvisedPolicy):
        advice = np.array([float(request.volume) for request in instance.requests])
    try:
        return run_policy(policy, instance, Setting(seed=seed, advice=advice))
    except EndlessLoopError:
        assert name in MAY_LOOP
    except ValueError as error:
        if type(error).__name__ != "NotApplicableError":
            raise
    return None


def begins_before(instance: Instance, schedule: Schedule, cut: int) -> set[tuple[int, int]]:
    """Return (request, round) of everything that began before a round, attempts included."""
    kept = schedule.kept or [(0,) * 99] * len(instance)
    begun = set()
    for i, start in enumerate(schedule.starts):
        attempts = schedule.attempts[i] if schedule.attempts else ()
        for (begin, _), tokens in zip([*attempts, (start, 0)], kept[i], strict=False):
            begun.add((i, begin + tokens))
    return {(i, begin) for i, begin in begun if begin < cut}
