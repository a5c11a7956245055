"""One simulator for every policy: from event to event, in unit rounds or in real time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.admission import Requests, starts_in_order, starts_in_time
from heuristics.look_ahead_rules import PlannedRules
from heuristics.policy import (
    UNIT_ROUND,
    AdvisedPolicy,
    Forecast,
    Ints,
    Known,
    ListPolicy,
    NotApplicableError,
    PlanPolicy,
    Policy,
    RankError,
    RoundPolicy,
    Values,
)
from heuristics.predictions import PredictionModel, predict
from heuristics.round_driver import RoundTrace, drive
from instances import Instance
from instances.batch_time import BatchTime
from schedules import Clock, Schedule, make_schedule

#: Keeps a policy's draws apart from those of an instance or a prediction with the same seed.
_STREAM = 0x706F6C69


class AdviceError(Exception):
    """A policy needs advice (the solution of a relaxation) that it was not given."""


@dataclass(frozen=True)
class RunSetting:
    """Everything besides policy and instance that a run depends on."""

    values: Values | None = None
    """The policy's parameters; defaults where left out."""
    prediction: PredictionModel | None = None
    prediction_values: Values | None = None
    """The prediction model, None for the instance's intervals (exact where it has none)."""
    seed: int = 0
    """Seed of the policy's and the prediction's draws."""
    advice: NDArray[np.float64] | None = None
    """For an ``AdvisedPolicy``: expected start of each request, shape (n,), rounds."""
    batch_time: BatchTime | None = None
    """Length of a round, for instances in seconds; None for instances in rounds."""


DEFAULT_SETTING = RunSetting()


def run_policy(
    policy: Policy, instance: Instance, setting: RunSetting = DEFAULT_SETTING, method: str = ""
) -> Schedule:
    """Return the schedule that a policy makes of an instance, in unit rounds or in real time.

    It raises ValueError if the unit of the arrivals and the batch time do not go together,
    AdviceError if the policy needs advice and has none, NotApplicableError if it does not serve
    such an instance, EndlessLoopError if it loops for ever.
    """
    timed = setting.batch_time is not None
    known = _known(policy, instance, setting)
    # A policy sees an estimate of later tokens when it has made them: their number is the output.
    forecast = known.forecast
    known = replace(known, forecast=replace(forecast, later=None))
    by_rank, method = _order_of(policy, known, setting), method or policy.name
    if by_rank is None:
        return _run_by_rounds(
            policy, instance, known, method, lambda *asked: forecast.estimate(*asked), timed=timed
        )
    requests = Requests(known.arrivals, known.prompts, known.upper, instance.outputs)
    first_fit = isinstance(policy, ListPolicy) and policy.first_fit
    passes = len(instance) if first_fit else 0
    if not timed:
        starts = starts_in_order(requests, by_rank, instance.memory, passes=passes)
        return make_schedule(instance, starts, method)
    starts, completions, gaps = starts_in_time(
        requests, by_rank, instance.memory, known.batch_time, passes=passes
    )
    clock = Clock(known.batch_time.name, tuple(gaps))
    tel = sum(completions) - sum(known.arrivals.tolist())
    return make_schedule(instance, starts, method, clock=clock, tel=tel)


def run_in_order(instance: Instance, order: Ints, method: str) -> Schedule:
    """Return the schedule of look-ahead admission in a given order (positions, shape (n,))."""
    outputs = instance.outputs
    requests = Requests(instance.arrivals, instance.prompts, outputs, outputs)
    return make_schedule(instance, starts_in_order(requests, order, instance.memory), method)


def _run_by_rounds(
    policy: Policy,
    instance: Instance,
    known: Known,
    method: str,
    estimate: Callable[[int, int], int],
    *,
    timed: bool,
) -> Schedule:
    if isinstance(policy, RoundPolicy):
        rules, keeps_tokens = policy.rules(known), policy.keeps_tokens
    else:
        plan, keeps_tokens = policy, False
        assert isinstance(plan, PlanPolicy)
        rules = PlannedRules(known.upper.tolist(), lambda those: _pieces(plan, known.take(those)))
    late = rules.engine_accounting
    trace = drive(
        policy.name,
        rules,
        known.arrivals.tolist(),
        instance.prompts.tolist(),
        instance.outputs.tolist(),
        # The newest token of each request has no slot yet.
        instance.memory + late * len(instance),
        batch_time=known.batch_time if timed else None,
        keeps_tokens=keeps_tokens,
        estimate=estimate,
    )
    return _schedule_of(trace, instance, method, known.batch_time if timed else None, late)


def _order_of(policy: Policy, known: Known, setting: RunSetting) -> Ints | None:
    """Return the order in which a policy takes requests, None if it has none for the whole run."""
    arrive = known.arrivals.any()
    if isinstance(policy, ListPolicy):
        return order_by_keys(known, policy.rank(known))
    if isinstance(policy, PlanPolicy) and (policy.offline or not arrive):
        return np.concatenate(list(_pieces(policy, known)))
    if not isinstance(policy, AdvisedPolicy):
        return None
    if setting.batch_time is not None and arrive:
        raise NotApplicableError(
            f"{policy.name} orders requests by the LP relaxation, which is in rounds: it serves "
            "instances in seconds only where all arrive at 0"
        )
    if setting.advice is None:
        raise AdviceError(f"policy {policy.name} needs the solution of a relaxation")
    return policy.order(known, setting.advice)


def policy_generator(seed: int) -> np.random.Generator:
    """Return the generator of a policy's draws.

    The seed alone would repeat the words of ``instances.families``, which a policy must not know.
    """
    return np.random.default_rng([_STREAM, seed])


def _known(policy: Policy, instance: Instance, setting: RunSetting) -> Known:
    arrivals = instance.arrivals if setting.batch_time is None else instance.arrival_times
    forecast = Forecast(instance.outputs, instance.outputs)
    if policy.blind:
        forecast = Forecast(np.ones_like(instance.outputs), instance.memory - instance.prompts)
    elif not policy.clairvoyant:
        given = setting.prediction_values or {}
        forecast = predict(instance, setting.prediction, given, setting.seed)
    values = {parameter.name: parameter.default for parameter in policy.parameters}
    values |= setting.values or {}
    return Known(
        *(instance.memory, arrivals, instance.prompts, forecast, values),
        rng=policy_generator(setting.seed),
        ticks=instance.unit.ticks,
        batch_time=setting.batch_time or UNIT_ROUND,
    )


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
    return known.sorted_by(*keys)


def _schedule_of(
    trace: RoundTrace, instance: Instance, method: str, batch_time: BatchTime | None, late: bool
) -> Schedule:
    """Translate segments into starts, attempts and kept tokens (``schedules.schedule``)."""
    segments = trace.segments
    runs = [[(each.start - each.first + 1, each.last) for each in of] for of in segments]
    clock = tel = None
    if batch_time is not None:
        cut = any(len(run.chunks) > 1 or run.last < run.first for of in segments for run in of)
        prefills = tuple(tuple(each.chunks for each in of) for of in segments)
        cached = tuple(tuple(each.cached for each in of) for of in segments)
        clock = Clock(
            batch_time.name,
            tuple(trace.gaps),
            prefills if cut else None,
            cached if any(map(any, cached)) else None,
        )
        tel = sum(trace.completions) - sum(instance.arrival_times.tolist())
    return make_schedule(
        instance,
        [of_request[-1][0] for of_request in runs],
        method,
        attempts=[of_request[:-1] for of_request in runs],
        kept=[[each.first - 1 for each in of] for of in segments],
        clock=clock,
        tel=tel,
        engine_accounting=late,
    )


def _pieces(policy: PlanPolicy, known: Known) -> Iterator[Ints]:
    plan = policy.plan(known)
    return iter([plan]) if isinstance(plan, np.ndarray) else plan
