"""Runs any registered policy in a test, whatever it needs."""

import numpy as np

from heuristics.policy import AdvisedPolicy, NotApplicableError
from heuristics.policy_registry import policies
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from schedules import Schedule

#: Policies that may loop for ever by their own definition (jaillet2025_v1 sec. 7).
MAY_LOOP = {"alpha-greedy"}


def run(name: str, instance: Instance, seed: int = 0) -> Schedule | None:
    """Return the schedule, or None where the policy says that it cannot serve the instance."""
    # A policy that needs the solution of a relaxation gets the volumes in its place: any numbers
    # will do to test how it uses them.
    policy = policies()[name]
    advice = None
    if isinstance(policy, AdvisedPolicy):
        advice = np.array([float(request.volume) for request in instance.requests])
    try:
        return run_policy(policy, instance, RunSetting(seed=seed, advice=advice))
    except EndlessLoopError:
        assert name in MAY_LOOP
    except NotApplicableError:
        pass
    return None


def runs_of(instance: Instance, schedule: Schedule) -> list[list[tuple[int, int]]]:
    """Return of each request when its runs begin, and the tokens that each has in the end."""
    runs = []
    for i, request in enumerate(instance.requests):
        attempts = schedule.attempts[i] if schedule.attempts else ()
        tried = [*attempts, (schedule.starts[i], request.output)]
        kept = schedule.kept[i] if schedule.kept else (0,) * len(tried)
        runs.append([(start + k, tokens) for (start, tokens), k in zip(tried, kept, strict=True)])
    return runs


def begins_before(instance: Instance, schedule: Schedule, cut: int) -> set[tuple[int, int]]:
    """Return (request, round) of everything that began before a round, attempts included."""
    runs = enumerate(runs_of(instance, schedule))
    return {(i, begin) for i, of_request in runs for begin, _ in of_request if begin < cut}
