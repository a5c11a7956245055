"""One instance, one policy: parameters, prediction and the advice of a relaxation where needed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.registry import formulations
from formulations.windows import start_windows
from heuristics.policy import AdvisedPolicy, Policy, Values
from heuristics.predictions import Prediction
from heuristics.registry import policies
from heuristics.simulator import AdviceError, Setting, run_policy
from instances import Instance
from kvopt.running.job import Event, Job
from kvopt.running.process import run_job
from schedules import Schedule

#: Start columns up to which a policy is advised by the full relaxation, beyond by the bucketed one.
FULL_RELAXATION_UP_TO = 120_000


@dataclass(frozen=True)
class PolicyCall:
    """A policy with its parameters and the prediction it is given.

    ``method`` is how the call is named in schedules and tables.
    """

    policy: Policy
    values: Values
    prediction: Prediction | None
    prediction_values: Values
    method: str


def run_policy_call(
    call: PolicyCall,
    instance: Instance,
    *,
    seed: int,
    deadline: float,
    threads: int = 1,
    memory_limit: float | None = None,
) -> Schedule:
    """Return the schedule of a policy; a relaxation that it needs is solved in its own process.

    Parameters
    ----------
    deadline
        For the relaxation, on the clock of ``time.monotonic``.  The policy itself does not look at
        the clock: whoever calls it kills its process.

    Raises
    ------
    AdviceError
        If the relaxation was not solved in time.
    EndlessLoopError, NotApplicableError
        As the policy says.
    """
    advice = None
    if isinstance(call.policy, AdvisedPolicy):
        advice = expected_starts(
            instance, seed=seed, deadline=deadline, threads=threads, memory_limit=memory_limit
        )
    setting = Setting(call.values, call.prediction, call.prediction_values, seed, advice)
    return run_policy(call.policy, instance, setting, call.method)


def expected_starts(
    instance: Instance,
    *,
    seed: int,
    deadline: float,
    threads: int = 1,
    memory_limit: float | None = None,
) -> NDArray[np.float64]:
    """Return Σ t·x of each request in the LP relaxation, shape (n,), rounds (W Alg. 6).

    The relaxation is ``lp-sparse`` where it has few enough columns, else ``lp-bucketed``, whose
    expected starts are known to within a bucket only.

    Raises
    ------
    AdviceError
        If HiGHS has not solved it by the deadline.
    """
    known = run_policy(policies()["svf"], instance)
    windows = start_windows(instance, known.tel)
    name = "lp-sparse" if windows.starts <= FULL_RELAXATION_UP_TO else "lp-bucketed"
    events: list[Event] = []
    job = Job(
        instance=instance,
        solver="highs",
        module=formulations()[name].module,
        relaxation=True,
        seconds=max(deadline - time.monotonic(), 0.1),
        threads=threads,
        seed=seed,
        warm_start=list(known.starts),
        upper_bound=known.tel,
        memory_limit=memory_limit,
    )
    outcome = run_job(job, events.append)
    for event in events:
        if event.kind == "relaxation":
            return np.array(event.data["expected_starts"])
    reasons = [str(event.data["text"]) for event in events if "text" in event.data]
    raise AdviceError(f"{name} was not solved: {'; '.join(reasons) or outcome.ending}")
