"""Policies inside a run's process, and the relaxation that some are advised by."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from formulations.mip.integer_program import IntegerProgram
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
#: Share of the objective up to which late starts are a matter of the solver's tolerance.
LATE = 1e-6


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
    whose expected starts are known to within a bucket only: first on a short grid, on which it is
    solved in half the time, and on the whole one where that may have another optimum.  Of an
    instance in seconds it is that of the same requests in rounds.  HiGHS solves it in this process,
    unless the task brings them along.

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
    if windows.starts <= FULL_RELAXATION_UP_TO:
        return _solved("ilp-sparse", {}, task, instance, known, deadline)[0]
    starts, objective = _solved("lp-bucketed", {"short": True}, task, instance, known, deadline)
    told = starts.sum() + instance.outputs.sum() - instance.arrivals.sum()
    if objective is None or objective - told > LATE * objective:
        # Some start after the grid, or too late to end on it.
        return _solved("lp-bucketed", {}, task, instance, known, deadline)[0]
    return starts


def _solved(
    name: str,
    settings: dict[str, bool],
    task: Task,
    instance: Instance,
    known: Schedule,
    deadline: float,
) -> tuple[NDArray[np.float64], float | None]:
    """Solve a relaxation; return the expected starts, and its objective where that can be told.

    Parameters
    ----------
    settings
        Of what builds it.
    """
    declared = formulations()[name].declared
    assert isinstance(declared, IntegerProgram)
    events: list[Event] = []
    job = Job(
        instance=instance,
        solver="highs",
        formulation=replace(declared, build=partial(declared.build, **settings)),
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
            return np.array(event.expected_starts), event.value
    reasons = [event.text for event in events if isinstance(event, Note)]
    ending = "the time limit" if time.monotonic() > deadline else "no reason given"
    raise AdviceError(f"{name} was not solved: {'; '.join(reasons) or ending}")


def _in_rounds(instance: Instance) -> Instance:
    """Return the instance; if it is in seconds, where all arrive at 0, the same in rounds."""
    if instance.time_unit == "round":
        return instance
    requests = tuple(replace(request, arrival=0) for request in instance.requests)
    return replace(instance, requests=requests, time_unit="round")
