"""One simulator for every policy: from event to event, under any clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.admission import first_feasible_start, insert_active, remove_active
from heuristics.clock import UNIT, Clock
from heuristics.compiled import kernels
from heuristics.policy import (
    AdvisedPolicy,
    Ints,
    Known,
    ListPolicy,
    PlanPolicy,
    Policy,
    RoundPolicy,
    Rules,
    State,
    Values,
)
from heuristics.predictions import Prediction, predict
from heuristics.rounds import Trace, drive
from instances import Instance
from schedules import Schedule, make_schedule

#: Keeps a policy's draws apart from those of an instance or a prediction with the same seed.
_STREAM = 0x706F6C69


class AdviceError(Exception):
    """A policy needs advice (the solution of a relaxation) that it was not given."""


@dataclass(frozen=True)
class Setting:
    """Everything besides policy and instance that a run depends on.

    Attributes
    ----------
    values
        The policy's parameters; defaults where left out.
    prediction, prediction_values
        The prediction model, None for the instance's own intervals (exact where it has none).
    seed
        Seed of the policy's and the prediction's draws.
    advice
        For an ``AdvisedPolicy``: expected start of each request, shape (n,), rounds.
    """

    values: Values | None = None
    prediction: Prediction | None = None
    prediction_values: Values | None = None
    seed: int = 0
    advice: NDArray[np.float64] | None = None


DEFAULT_SETTING = Setting()


def run_policy(
    policy: Policy, instance: Instance, setting: Setting = DEFAULT_SETTING, method: str = ""
) -> Schedule:
    """Return the schedule that a policy makes of an instance under the unit clock.

    Raises
    ------
    ValueError
        If the arrivals of the instance are in seconds.
    AdviceError
        If the policy needs advice and has none.
    EndlessLoopError
        If the policy loops for ever.
    """
    arrivals = instance.arrivals
    if isinstance(policy, ListPolicy):
        known = _known(policy, instance, arrivals, setting)
        by_rank = _by_rank(known, policy.rank(known))
        beliefs = known.upper
        starts = _fast_starts(instance, by_rank, beliefs, policy.first_fit)
        return make_schedule(instance, starts, method or policy.name)
    once = isinstance(policy, PlanPolicy | AdvisedPolicy)
    if once and (policy.offline or not arrivals.any()):
        order = _whole_order(policy, instance, arrivals, setting)
        starts = _fast_starts(instance, order, instance.outputs, first_fit=False)
        return make_schedule(instance, starts, method or policy.name)
    trace = run_on_clock(policy, instance, UNIT, setting)
    return _schedule_of(trace, instance, method or policy.name)


def run_in_order(instance: Instance, order: Ints, method: str) -> Schedule:
    """Return the schedule of look-ahead admission in a given order (positions, shape (n,))."""
    starts = _fast_starts(instance, order, instance.outputs, first_fit=False)
    return make_schedule(instance, starts, method)


def run_on_clock(
    policy: Policy, instance: Instance, clock: Clock, setting: Setting = DEFAULT_SETTING
) -> Trace:
    """Return what a policy does under a clock, round by round; arrivals are on the clock.

    The policy is the same object as under the unit clock and never sees the clock.
    """
    arrivals = np.array([request.arrival for request in instance.requests])
    known = _known(policy, instance, arrivals, setting)
    rules: Rules
    keeps_tokens = False
    if isinstance(policy, RoundPolicy):
        rules = policy.rules(known)
        keeps_tokens = policy.keeps_tokens
    elif isinstance(policy, ListPolicy):
        by_rank = _by_rank(known, policy.rank(known))
        rules = _OrderRules(known, by_rank, policy.first_fit)
    elif isinstance(policy, PlanPolicy) and not policy.offline:
        rules = _PlanRules(known, policy)
    else:
        order = _whole_order(policy, instance, arrivals, setting)
        rules = _OrderRules(known, order, first_fit=False)
    return drive(
        policy.name,
        rules,
        arrivals.tolist(),
        instance.prompts.tolist(),
        instance.outputs.tolist(),
        instance.memory,
        clock=clock,
        keeps_tokens=keeps_tokens,
    )


def policy_generator(seed: int) -> np.random.Generator:
    """Return the generator of a policy's draws.

    The seed alone would repeat the words from which ``instances.families`` draws an instance of
    the same seed, and a random order would follow the outputs that it must not know.
    """
    return np.random.default_rng([_STREAM, seed])


def _known(
    policy: Policy, instance: Instance, arrivals: NDArray[np.generic], setting: Setting
) -> Known:
    if policy.clairvoyant:
        lower = upper = instance.outputs
    else:
        lower, upper = predict(
            instance, setting.prediction, setting.prediction_values or {}, setting.seed
        )
    values = {parameter.name: parameter.default for parameter in policy.parameters}
    values |= setting.values or {}
    rng = policy_generator(setting.seed)
    return Known(instance.memory, arrivals, instance.prompts, lower, upper, values, rng)


def _by_rank(known: Known, keys: Sequence[NDArray[np.generic]]) -> Ints:
    """Return positions by rank: by keys, then arrival, then position."""
    columns = (*keys, known.arrivals, np.arange(len(known)))
    return np.lexsort(columns[::-1]).astype(np.int64)


def _whole_order(
    policy: Policy, instance: Instance, arrivals: NDArray[np.generic], setting: Setting
) -> Ints:
    known = _known(policy, instance, arrivals, setting)
    if isinstance(policy, PlanPolicy):
        return policy.plan(known)
    assert isinstance(policy, AdvisedPolicy)
    if setting.advice is None:
        raise AdviceError(f"policy {policy.name} needs the solution of a relaxation")
    return policy.order(known, setting.advice)


def _fast_starts(instance: Instance, by_rank: Ints, beliefs: Ints, first_fit: bool) -> list[int]:
    n = len(instance)
    ranks = np.empty(n, dtype=np.int64)
    ranks[by_rank] = np.arange(n)
    by_arrival = np.lexsort((np.arange(n), instance.arrivals))
    return kernels(n).run_in_order(
        instance.arrivals,
        instance.prompts,
        beliefs,
        instance.outputs,
        by_rank,
        ranks,
        by_arrival,
        instance.memory,
        first_fit,
    )


def _schedule_of(trace: Trace, instance: Instance, method: str) -> Schedule:
    """Translate segments into starts, attempts and kept tokens (``schedules.model``)."""
    starts: list[int] = []
    attempts: list[list[tuple[int, int]]] = []
    kept: list[list[int]] = []
    for segments in trace.segments:
        *cancelled, final = segments
        starts.append(final.start - (final.first - 1))
        attempts.append([(each.start - (each.first - 1), each.last) for each in cancelled])
        kept.append([each.first - 1 for each in segments])
    return make_schedule(instance, starts, method, attempts=attempts, kept=kept)


class _OrderRules:
    """Look-ahead admission in a fixed order, one round at a time (the slow twin of the kernel)."""

    def __init__(self, known: Known, by_rank: Ints, first_fit: bool) -> None:
        n = len(known)
        self._known = known
        self._beliefs = known.upper.tolist()
        self._rank = {int(request): rank for rank, request in enumerate(by_rank)}
        self._first_fit = first_fit
        self._queue: list[int] = []
        self._ends, self._bases, self._ids = [0] * n, [0] * n, [0] * n
        self._active = 0

    def arrive(self, request: int) -> None:
        self._queue.append(request)
        self._queue.sort(key=self._rank.__getitem__)

    def finish(self, request: int, output: int) -> None:
        del output
        remove_active(self._ends, self._bases, self._ids, self._active, request)
        self._active -= 1

    def evict(self, state: State) -> list[int]:
        del state
        raise AssertionError("look-ahead admission never exceeds the memory")

    def admit(self, state: State) -> list[int]:
        admitted = []
        for request in list(self._queue):
            prompt, belief = state.prompts[request], self._beliefs[request]
            lists = (self._ends, self._bases)
            begin = first_feasible_start(
                *lists, self._active, prompt, belief, state.memory, state.now, state.now + 1
            )
            if begin == state.now:
                insert_active(
                    *lists, self._ids, self._active, begin + belief, prompt - begin, request
                )
                self._active += 1
                self._queue.remove(request)
                admitted.append(request)
            elif not self._first_fit:
                break
        return admitted

    def quiet(self) -> bool:
        return False

    def fingerprint(self) -> object:
        return None


class _PlanRules(_OrderRules):
    """Look-ahead admission in an order that is planned anew when requests arrive."""

    def __init__(self, known: Known, policy: PlanPolicy) -> None:
        super().__init__(known, np.arange(len(known)), first_fit=False)
        self._policy = policy
        self._stale = False

    def arrive(self, request: int) -> None:
        self._queue.append(request)
        self._stale = True

    def admit(self, state: State) -> list[int]:
        if self._stale:
            waiting = np.array(sorted(self._queue), dtype=np.int64)
            order = self._policy.plan(self._known.take(waiting))
            self._queue = waiting[order].tolist()
            self._stale = False
        return super().admit(state)
