"""One simulator for all round-based policies; it advances from event to event."""

from __future__ import annotations

import numpy as np

from heuristics.admission import run_in_order
from heuristics.policy import Known, Policy
from instances import Instance
from schedules import Schedule, make_schedule


def run_policy(policy: Policy, instance: Instance) -> Schedule:
    """Return the schedule that a policy makes of an instance.

    Raises
    ------
    ValueError
        If the arrivals of the instance are in seconds.
    """
    known = Known(instance.memory, instance.arrivals, instance.prompts, instance.outputs)
    n = len(instance)
    keys = (*policy.rank(known), known.arrivals, np.arange(n))
    by_rank = np.lexsort(keys[::-1])
    ranks = np.empty(n, dtype=np.int64)
    ranks[by_rank] = np.arange(n)
    by_arrival = np.lexsort((np.arange(n), known.arrivals))
    starts = [0] * n
    outputs = known.outputs.tolist()
    run_in_order(
        known.arrivals.tolist(),
        known.prompts.tolist(),
        outputs,
        outputs,
        by_rank.tolist(),
        ranks.tolist(),
        instance.memory,
        (by_arrival.tolist(), [0] * n, [0] * n, [0] * n),
        starts,
    )
    return make_schedule(instance, starts, policy.name)
