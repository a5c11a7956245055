"""One simulator for every policy: from event to event, in unit rounds or in real time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.admission import Requests, starts_in_order
from heuristics.planned import PlannedRules
from heuristics.policy import (
    UNIT_ROUND,
    AdvisedPolicy,
    Ints,
    Known,
    ListPolicy,
    NotApplicableError,
    PlanPolicy,
    Policy,
    RankError,
    RoundPolicy,
    Rules,
    Values,
)
from heuristics.predictions import Prediction, predict
from heuristics.real_time import starts_in_time
from heuristics.rounds import BlockMemory, Segment, Trace, drive
from instances import Instance
from instances.batch_time import BatchTime
from schedules import Clock, Schedule, make_schedule

#: Keeps a policy's draws apart from those of an instance or a prediction with the same seed.
_STREAM = 0x706F6C69


class AdviceError(Exception):
    """A policy needs advice (the solution of a relaxation) that it was not given."""


@dataclass(frozen=True)
class Setting:
    """Everything besides policy and instance that a run depends on."""

    values: Values | None = None
    """The policy's parameters; defaults where left out."""
    prediction: Prediction | None = None
    prediction_values: Values | None = None
    """The prediction model, None for the instance's own intervals (exact where it has none)."""
    seed: int = 0
    """Seed of the policy's and the prediction's draws."""
    advice: NDArray[np.float64] | None = None
    """For an ``AdvisedPolicy``: expected start of each request, shape (n,), rounds."""
    batch_time: BatchTime | None = None
    """How long a round takes, for instances in seconds; None for instances in rounds."""


DEFAULT_SETTING = Setting()


def run_policy(
    policy: Policy, instance: Instance, setting: Setting = DEFAULT_SETTING, method: str = ""
) -> Schedule:
    """Return the schedule that a policy makes of an instance, in unit rounds or in real time.

    Raises
    ------
    ValueError
        If the arrivals of the instance are in seconds and there is no batch time, or the other
        way round.
    AdviceError
        If the policy needs advice and has none.
    NotApplicableError
        If the policy does not serve such an instance.
    EndlessLoopError
        If the policy loops for ever.
    """
    arrivals = _times(instance, setting.batch_time)
    by_rank, beliefs, first_fit = _one_order(policy, instance, arrivals, setting)
    if by_rank is None:
        return _run_on_clock(policy, instance, setting, method or policy.name)
    requests = Requests(arrivals, instance.prompts, beliefs, instance.outputs)
    method = method or policy.name
    passes = len(instance) if first_fit else 0
    if setting.batch_time is None:
        starts = starts_in_order(requests, by_rank, instance.memory, passes=passes)
        return make_schedule(instance, starts, method)
    timed = starts_in_time(requests, by_rank, instance.memory, setting.batch_time, passes=passes)
    clock = Clock(setting.batch_time.name, tuple(timed.gaps))
    tel = sum(timed.completions) - sum(arrivals.tolist())
    return make_schedule(instance, timed.starts, method, clock=clock, tel=tel)


def run_in_order(instance: Instance, order: Ints, method: str) -> Schedule:
    """Return the schedule of look-ahead admission in a given order (positions, shape (n,))."""
    outputs = instance.outputs
    requests = Requests(instance.arrivals, instance.prompts, outputs, outputs)
    return make_schedule(instance, starts_in_order(requests, order, instance.memory), method)


def _run_on_clock(policy: Policy, instance: Instance, setting: Setting, method: str) -> Schedule:
    """Return the schedule of a policy that decides round by round."""
    arrivals = _times(instance, setting.batch_time)
    known = _known(policy, instance, arrivals, setting)
    rules: Rules
    if isinstance(policy, RoundPolicy):
        rules = policy.rules(known)
    else:
        assert isinstance(policy, PlanPolicy)
        rules = _plan_rules(known, policy)
    late = isinstance(rules, BlockMemory) and rules.engine_accounting
    trace = drive(
        policy.name,
        rules,
        arrivals.tolist(),
        instance.prompts.tolist(),
        instance.outputs.tolist(),
        # The newest token of each request has no slot yet.
        instance.memory + late * len(instance),
        batch_time=setting.batch_time,
        keeps_tokens=isinstance(policy, RoundPolicy) and policy.keeps_tokens,
    )
    return _schedule_of(trace, instance, method, setting.batch_time, late)


def _times(instance: Instance, batch_time: BatchTime | None) -> Ints:
    """Return the arrivals in the unit of a run: rounds, or nanoseconds in real time."""
    if batch_time is None:
        return instance.arrivals
    return instance.arrival_times


def _one_order(
    policy: Policy, instance: Instance, arrivals: Ints, setting: Setting
) -> tuple[Ints | None, Ints, bool]:
    """Return the order in which a policy takes requests, believed outputs, and first fit or not.

    The order is None if the policy has no such order for the whole run.
    """
    if isinstance(policy, ListPolicy):
        known = _known(policy, instance, arrivals, setting)
        return order_by_keys(known, policy.rank(known)), known.upper, policy.first_fit
    planned = isinstance(policy, PlanPolicy) and (policy.offline or not arrivals.any())
    if planned or isinstance(policy, AdvisedPolicy):
        return _whole_order(policy, instance, arrivals, setting), instance.outputs, False
    return None, instance.outputs, False


def policy_generator(seed: int) -> np.random.Generator:
    """Return the generator of a policy's draws.

    The seed alone would repeat the words from which ``instances.families`` draws an instance of
    the same seed, and a random order would follow the outputs that it must not know.
    """
    return np.random.default_rng([_STREAM, seed])


def _known(policy: Policy, instance: Instance, arrivals: Ints, setting: Setting) -> Known:
    if policy.clairvoyant:
        lower = upper = instance.outputs
    else:
        lower, upper = predict(
            instance, setting.prediction, setting.prediction_values or {}, setting.seed
        )
    values = {parameter.name: parameter.default for parameter in policy.parameters}
    values |= setting.values or {}
    rng = policy_generator(setting.seed)
    ticks = instance.unit.ticks
    known = (instance.memory, arrivals, instance.prompts, lower, upper, values, rng, ticks)
    return Known(*known, setting.batch_time or UNIT_ROUND)


def order_by_keys(known: Known, keys: Sequence[NDArray[np.generic]]) -> Ints:
    """Return positions by rank: by keys, then arrival, then position."""
    if isinstance(keys, np.ndarray):
        raise RankError(
            "rank: expected a tuple of arrays, as (known.outputs,), found one array; "
            "is a comma missing?"
        )
    for key in keys:
        if np.shape(key) != (len(known),):
            raise RankError(
                f"rank: expected arrays of shape ({len(known)},), one number a request, "
                f"found {np.shape(key)}"
            )
        values = np.asarray(key)
        if values.dtype.kind == "f" and np.isnan(values).any():
            lost = int(np.isnan(values).argmax())
            raise RankError(f"rank: expected numbers, found NaN for the request at position {lost}")
    columns = (*keys, known.arrivals, np.arange(len(known)))
    return np.lexsort(columns[::-1]).astype(np.int64)


def _whole_order(policy: Policy, instance: Instance, arrivals: Ints, setting: Setting) -> Ints:
    timed = setting.batch_time is not None
    if isinstance(policy, AdvisedPolicy) and timed and arrivals.any():
        raise NotApplicableError(
            f"{policy.name} orders requests by the LP relaxation, which is in rounds: it serves "
            "instances in seconds only where all arrive at 0"
        )
    known = _known(policy, instance, arrivals, setting)
    if isinstance(policy, PlanPolicy):
        return policy.plan(known)
    assert isinstance(policy, AdvisedPolicy)
    if setting.advice is None:
        raise AdviceError(f"policy {policy.name} needs the solution of a relaxation")
    return policy.order(known, setting.advice)


def _schedule_of(
    trace: Trace, instance: Instance, method: str, batch_time: BatchTime | None, late: bool
) -> Schedule:
    """Translate segments into starts, attempts and kept tokens (``schedules.model``)."""
    starts: list[int] = []
    attempts: list[list[tuple[int, int]]] = []
    kept: list[list[int]] = []
    for segments in trace.segments:
        *cancelled, final = segments
        starts.append(final.start - (final.first - 1))
        attempts.append([(each.start - (each.first - 1), each.last) for each in cancelled])
        kept.append([each.first - 1 for each in segments])
    if batch_time is None:
        clock = tel = None
    else:
        cached = [[each.cached for each in segments] for segments in trace.segments]
        clock = Clock(
            batch_time.name,
            tuple(trace.gaps),
            _prefills(trace.segments),
            tuple(map(tuple, cached)) if any(map(any, cached)) else None,
        )
        tel = sum(trace.completions) - sum(instance.arrival_times.tolist())
    return make_schedule(
        instance,
        starts,
        method,
        attempts=attempts,
        kept=kept,
        clock=clock,
        tel=tel,
        engine_accounting=late,
    )


def _prefills(segments: list[list[Segment]]) -> tuple[tuple[tuple[int, ...], ...], ...] | None:
    """Return the chunks of every run, None if no prompt was cut."""
    if not any(len(each.chunks) > 1 or each.last < each.first for of in segments for each in of):
        return None
    return tuple(tuple(each.chunks for each in of_request) for of_request in segments)


def _plan_rules(known: Known, policy: PlanPolicy) -> Rules:
    def plan(waiting: Ints) -> Iterator[Ints]:
        some = known.take(waiting)
        return policy.pieces(some) if policy.pieces else iter([policy.plan(some)])

    return PlannedRules(known.outputs.tolist(), plan)
