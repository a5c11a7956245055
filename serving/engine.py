"""Engine for an instance in seconds: policies on the clock, and the certified bound."""

import math
import time

from heuristics.policy import NotApplicableError, Policy
from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from instances.batch_time import BatchTime, parse_batch_time
from kvopt.engines.start import WARM_START_SHARE, warm_start_policies
from kvopt.runs.events import EventReport
from kvopt.runs.task import Task
from schedules import Schedule
from schedules.clock.timeline import make_timeline
from schedules.gap import gap
from schedules.schedule import is_better_schedule
from serving.bounds.loads import not_covered
from serving.bounds.price_ascent import load_kernel
from serving.bounds.seconds import bound_in_seconds
from serving.waiting_requests import FEW, what_binds

#: Share of the time for the last evaluation of the prices, and share of the rest for the bound of
#: schedules that run as few at a time as vLLM's scheduler, if that limit binds.
_RESERVE_SHARE, _FEW_SHARE = 0.05, 0.3


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels (``kvopt.runs.kernel_compilation``)."""
    del instance, formulation
    return {"seconds"}


def solve_in_seconds(task: Task, report: EventReport) -> None:
    """Run the policies that engines begin with, then compute the bound, and send what improves.

    The policies come first, for a share of the time; the others run after the bound, unless only
    the bound is wanted.
    """
    instance, batch_time = task.instance, parse_batch_time(task.batch_time)
    assert instance is not None
    began = time.monotonic()
    end = task.end_from(began)
    waiting: list[Policy] = [*warm_start_policies()]
    if not not_covered(instance, batch_time):
        # Bounds hold for its schedules.
        waiting.append(policies()["srpt"])
    best = None
    for until in (began + WARM_START_SHARE * (end - began), end):
        while waiting and time.monotonic() < until:
            policy = waiting.pop(0)
            schedule = run_policy(policy, instance, RunSetting(batch_time=batch_time))
            if best is None or is_better_schedule(schedule, best):
                best = schedule
                report.found(schedule, f"policy {policy.name}")
        if until < end:
            _bound(task, batch_time, report, end)
        if task.method.solver == "bound":
            break
    report.done()


def _bound(task: Task, batch_time: BatchTime, report: EventReport, end: float) -> None:
    instance = task.instance
    assert instance is not None
    exception = not_covered(instance, batch_time)
    few = _held_up(instance, batch_time)
    if few is not None and few.easier and exception:
        few = None
    now = time.monotonic()
    deadline = now + (1 - _RESERVE_SHARE) * (end - now)
    until = now + (1 - _FEW_SHARE) * (deadline - now) if few else deadline
    found = bound_in_seconds(instance, batch_time, until, report)
    source = str(found.certificate["kind"])
    # Sent once more with its proof, which is long.
    report.bound(found.value, source, found.certificate)
    if exception:
        report.note(exception)
    if few is not None:
        running = batch_time.engine_limits.running
        own = bound_in_seconds(instance, batch_time, deadline, running=running).value
        least = max(own, found.value)
        assert least <= few.tel
        bound = least // len(instance) // 10**6 / 1000  # rounded down
        report.note(
            f"{FEW} {running:,} requests at a time, vLLM's limit, is below "
            f"{bound:.3f} s a request: order saves at most "
            f"{math.ceil(1000 * gap(few.tel, least)) / 10:.1f} % of vllm-v1's "
            f"{instance.unit.mean(few.tel, len(instance))}, the rest is due to that limit"
        )


def _held_up(instance: Instance, batch_time: BatchTime) -> Schedule | None:
    """Return vLLM's schedule if its limit on running requests binds; None if not."""
    running, vllm = batch_time.engine_limits.running, policies()["vllm-v1"]
    if len(instance) <= running:
        return None
    try:
        schedule = run_policy(vllm, instance, RunSetting(batch_time=batch_time))
    except NotApplicableError:
        return None
    times = make_timeline(instance, schedule)
    assert times.rounds.running.max() <= running
    return schedule if what_binds(vllm.name, batch_time.name, instance.memory, times) else None


def compile_kernels() -> None:
    """Compile the search for prices, or load the compiled one."""
    load_kernel()
