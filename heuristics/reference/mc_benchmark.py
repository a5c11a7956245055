"""First come, first served with the look-ahead of MC-SF (J2 Algorithm 2, W sec. 7)."""

from __future__ import annotations

from heuristics.reference.mc_sf import in_order
from instances import Instance
from schedules import Schedule, make_schedule


def mc_benchmark(instance: Instance) -> Schedule:
    """J2 Algorithm 2: Algorithm 1 with line 3 in ascending order of arrival."""
    return make_schedule(
        instance, in_order(instance, lambda request: request.arrival), "mc-benchmark"
    )


def fcfs(instance: Instance) -> Schedule:
    """The benchmark of W sec. 7, which has no pseudocode there: in the order of arrival."""
    return make_schedule(instance, in_order(instance, lambda request: request.arrival), "fcfs")
