"""Policies inside a run's process, and the relaxation that advises some."""

import importlib
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.valid.windows import TIGHTEN_UP_TO, start_windows
from heuristics.policy_registry import policies
from heuristics.simulator import AdviceError, RunSetting, run_policy
from instances import Instance
from instances.batch_time import BatchTime
from kvopt.engines.job import EngineJob
from kvopt.methods.grammar import read_method
from kvopt.methods.method import Method
from kvopt.methods.policy_call import PolicyCall
from kvopt.runs.events import Event, EventReport, Note
from kvopt.runs.task import Task
from schedules import Schedule

#: Start columns up to which the relaxation is solved with all of them at once.
LISTED_UP_TO = 120_000


def run_policy_call(
    call: PolicyCall,
    instance: Instance,
    seed: int,
    advice: NDArray[np.float64] | None = None,
    batch_time: BatchTime | None = None,
) -> Schedule:
    """Return the schedule of a policy, with the :func:`expected_starts` that it may need."""
    predicted = call.prediction, call.prediction_values
    setting = RunSetting(call.values, *predicted, seed, advice, batch_time)
    return run_policy(call.policy, instance, setting, call.method)


def choose_relaxation_method(instance: Instance) -> Method:
    """Return the method that solves the LP relaxation; with many columns, by their generation."""
    rounds, known = _in_rounds(instance), None
    if len(rounds) <= TIGHTEN_UP_TO:
        known = run_policy(policies()["svf"], rounds).tel
    small = start_windows(rounds, known).starts <= LISTED_UP_TO
    return read_method("highs:ilp-sparse(relaxed=yes)" if small else "bound:bound-lp", planned=True)


def expected_starts(task: Task, deadline: float) -> NDArray[np.float64]:
    """Return Σ t·x of each request in the LP relaxation in rounds, shape (n,) (W Alg. 6).

    It is solved in this process, unless the task has them.  An AdviceError: not by the deadline.
    """
    if task.expected_starts is not None:
        return np.array(task.expected_starts)
    assert task.instance is not None
    instance = _in_rounds(task.instance)
    known = run_policy(policies()["svf"], instance)
    adviser = choose_relaxation_method(instance)
    assert adviser.model is not None
    if adviser.solver == "bound":
        from formulations.bounds.lp import coarse_starts  # what few runs need

        starts = coarse_starts(
            instance,
            deadline=deadline,
            threads=task.threads,
            windows=start_windows(instance, known.tel),
            known_starts=np.array(known.starts),
        )
        if starts is None:
            raise AdviceError("the LP relaxation was not solved: the time limit")
        return starts
    events: list[Event] = []
    job = EngineJob(
        instance=instance,
        solver=adviser.solver,
        formulation=adviser.model.declared,
        relaxation=True,
        deadline=deadline,
        threads=task.threads,
        seed=task.seed,
        warm_start=list(known.starts),
        upper_bound=known.tel,
        memory_limit=task.memory_limit,
    )
    highs = importlib.import_module("kvopt.engines.highs")
    starts = highs.relaxed_starts(job, EventReport(events.append))
    if starts is not None:
        return np.array(starts)
    reasons = [event.text for event in events if isinstance(event, Note)]
    ending = "the time limit" if time.monotonic() > deadline else "no reason given"
    raise AdviceError(f"the LP relaxation was not solved: {'; '.join(reasons) or ending}")


def _in_rounds(instance: Instance) -> Instance:
    """Return the instance; if it is in seconds, where all arrive at 0, the same in rounds."""
    if instance.time_unit == "round":
        return instance
    requests = tuple(replace(request, arrival=0) for request in instance.requests)
    return replace(instance, requests=requests, time_unit="round")
