"""Policies inside a run's process, and the relaxation that some are advised by."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.registry import formulations
from formulations.valid.windows import start_windows
from heuristics.registry import policies
from heuristics.simulator import AdviceError, Setting, run_policy
from instances import Instance
from instances.batch_time import BatchTime
from kvopt.engines.job import Job
from kvopt.methods.policy import PolicyCall
from kvopt.running.events import Event, Note, Relaxation, Report
from kvopt.running.task import Task
from schedules import Schedule

#: Start columns up to which a policy is advised by the full relaxation, beyond by the bucketed one.
FULL_RELAXATION_UP_TO = 120_000


def run_policy_call(
    call: PolicyCall,
    instance: Instance,
    seed: int,
    advice: NDArray[np.float64] | None = None,
    batch_time: BatchTime | None = None,
) -> Schedule:
    """Return the schedule of a policy, which does not look at the clock.

    Parameters
    ----------
    advice
        What :func:`expected_starts` returns, for a policy that needs it.
    batch_time
        For an instance in seconds.

    Raises
    ------
    AdviceError, EndlessLoopError, NotApplicableError
        As the policy says.
    """
    setting = Setting(
        call.values, call.prediction, call.prediction_values, seed, advice, batch_time
    )
    return run_policy(call.policy, instance, setting, call.method)


def expected_starts(task: Task, deadline: float) -> NDArray[np.float64]:
    """Return Σ t·x of each request in the LP relaxation, shape (n,), rounds (W Alg. 6).

    The relaxation is that of ``ilp-sparse`` where it has few enough columns, else ``lp-bucketed``,
    whose expected starts are known to within a bucket only.  Of an instance in seconds it is that
    of the same requests in rounds.  HiGHS solves it in this process, unless the task brings them.

    Raises
    ------
    AdviceError
        If HiGHS has not solved it by the deadline.
    """
    if task.expected_starts is not None:
        return np.array(task.expected_starts)
    assert task.instance is not None
    instance = _in_rounds(task.instance)
    known = run_policy(policies()["svf"], instance)
    windows = start_windows(instance, known.tel)
    name = "ilp-sparse" if windows.starts <= FULL_RELAXATION_UP_TO else "lp-bucketed"
    events: list[Event] = []
    job = Job(
        instance=instance,
        solver="highs",
        formulation=formulations()[name].declared,
        relaxation=True,
        deadline=deadline,
        threads=task.threads,
        seed=task.seed,
        warm_start=list(known.starts),
        upper_bound=known.tel,
        memory_limit=task.memory_limit,
    )
    importlib.import_module("kvopt.engines.highs").solve(job, Report(events.append))
    for event in events:
        if isinstance(event, Relaxation):
            return np.array(event.expected_starts)
    reasons = [event.text for event in events if isinstance(event, Note)]
    ending = "the time limit" if time.monotonic() > deadline else "no reason given"
    raise AdviceError(f"{name} was not solved: {'; '.join(reasons) or ending}")


def _in_rounds(instance: Instance) -> Instance:
    """Return the instance; if it is in seconds, where all arrive at 0, the same in rounds."""
    if instance.time_unit == "round":
        return instance
    requests = tuple(replace(request, arrival=0) for request in instance.requests)
    return replace(instance, requests=requests, time_unit="round")
