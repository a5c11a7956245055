"""Prediction models, and that a policy which is not clairvoyant learns no output too early."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy import (
    Known,
    ListPolicy,
    NotApplicableError,
    PlanPolicy,
    Policy,
    RoundPolicy,
    Rules,
    State,
    Values,
)
from heuristics.predictions import PREDICTIONS, predict
from heuristics.registry import policies
from heuristics.simulator import Setting, run_policy
from instances import Instance, Request
from schedules import Schedule
from tests.heuristics.contract import begins_before, run
from tests.oracles.draws import instance_of, instances

BLIND = sorted(name for name, policy in policies().items() if not policy.clairvoyant)

VALUES: dict[str, st.SearchStrategy[Values]] = {
    "exact": st.just({}),
    # Holds every output of the instances that are drawn, which are at most 24.
    "interval": st.fixed_dictionaries({"low": st.just(1), "high": st.integers(24, 1000)}),
    "bins": st.fixed_dictionaries({"width": st.integers(1, 40)}),
    "deciles": st.just({}),
    "relative": st.fixed_dictionaries({"x": st.floats(0, 1)}),
    "noise": st.fixed_dictionaries({"sigma": st.floats(0, 5)}),
}


def outputs_only(memory: int, *outputs: int) -> Instance:
    return Instance("o", memory, tuple(Request(i, 0, 0, o) for i, o in enumerate(outputs)))


def ends(instance: Instance, name: str, seed: int = 0, **values: Any) -> list[tuple[int, int]]:
    lower, upper = predict(instance, PREDICTIONS[name], values, seed)
    return list(zip(lower.tolist(), upper.tolist(), strict=True))


def test_every_model_is_drawn() -> None:
    """A new model must be given values here, so that the tests below reach it."""
    assert set(VALUES) == set(PREDICTIONS)


@pytest.mark.parametrize("name", sorted(VALUES))
@given(data=st.data(), instance=instances(), seed=st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_intervals_hold_the_output(
    name: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """1 <= lower <= o <= upper <= M − s, whatever the values; the same seed draws the same."""
    values = data.draw(VALUES[name])
    lower, upper = predict(instance, PREDICTIONS[name], values, seed)
    assert (lower >= 1).all()
    assert (lower <= instance.outputs).all()
    assert (instance.outputs <= upper).all()
    assert (upper <= instance.memory - instance.prompts).all()
    again = predict(instance, PREDICTIONS[name], values, seed)
    assert [each.tolist() for each in again] == [lower.tolist(), upper.tolist()]


@pytest.mark.parametrize("name", sorted(VALUES.keys() - {"deciles"}))
@given(data=st.data(), instance=instances(), seed=st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_later_requests_change_no_prediction(
    name: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """What is predicted of a request does not depend on how many follow it, but for deciles."""
    values = data.draw(VALUES[name])
    longer = Instance("longer", instance.memory, (*instance.requests, Request(99, 9, 0, 1)))
    assert ends(longer, name, seed, **values)[:-1] == ends(instance, name, seed, **values)


def test_ranges_of_the_paper() -> None:
    """C sec. 6: one rough interval, ten classes, and (1 − x)o to (1 + x)o."""
    instance = outputs_only(5000, 1, 100, 101, 883, 1000)
    assert ends(instance, "interval") == [(1, 1000)] * 5
    assert ends(instance, "bins") == [(1, 100), (1, 100), (101, 200), (801, 900), (901, 1000)]
    # Rounded outwards: 0.1·1 = 0.1, 0.1·101 = 10.1, 0.1·883 = 88.3; the lower end is at least 1.
    assert ends(instance, "relative", x=0.1) == [
        (1, 2),
        (90, 110),
        (90, 112),
        (794, 972),
        (900, 1100),
    ]


def test_deciles_of_all_outputs() -> None:
    """Ten classes of two; equal outputs are of one class, that of the first of them."""
    told = ends(outputs_only(5000, *range(10, 210, 10)), "deciles")
    assert told == [(max(1, high - 19), high) for high in range(20, 201, 20) for _ in range(2)]
    # The tenths of 3, 3, 3, 3, 8, 9 end at places 1, 2, 2, 3, 3, 4, 5, 5, 6, 6.
    assert ends(outputs_only(20, 8, 3, 3, 9, 3, 3), "deciles") == [
        (4, 8),
        (1, 3),
        (1, 3),
        (9, 9),
        (1, 3),
        (1, 3),
    ]


@pytest.mark.parametrize("x", [0.1, 0.5, 0.9, 0.95, 0.99])
def test_relative_ends_are_not_rounded_twice(x: float) -> None:
    """Where (1 ± x)o is an integer, the ends are that integer, as floats would not have it."""
    instance = outputs_only(1000, *range(100, 500, 100))
    hundredths = round(100 * x)
    assert ends(instance, "relative", x=x) == [
        (o - hundredths * o // 100, o + hundredths * o // 100) for o in range(100, 500, 100)
    ]


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (5, 40, r"found \[5, 40\] for request id 0, which makes 2 tokens$"),
        (1, 20, r"found \[1, 20\] for request id 2, which makes 40 tokens$"),
        (5, 20, r"found \[5, 20\] for request id 0, which makes 2 tokens \(and 1 more requests\)$"),
    ],
)
def test_an_interval_that_does_not_hold_an_output_is_refused(
    low: int, high: int, told: str
) -> None:
    """It is not moved to the output, which would reveal it; the first such request is named."""
    instance = outputs_only(100, 2, 10, 40)
    with pytest.raises(NotApplicableError, match=told):
        ends(instance, "interval", low=low, high=high)
    assert ends(instance, "interval", low=2, high=40) == [(2, 40)] * 3


@pytest.mark.parametrize("name", BLIND)
def test_no_policy_is_told_a_wrong_interval(name: str) -> None:
    """Every policy that is not clairvoyant is refused alike, before it decides anything."""
    setting = Setting(prediction=PREDICTIONS["interval"], prediction_values={"low": 1, "high": 3})
    with pytest.raises(NotApplicableError, match="request id 1, which makes 4 tokens"):
        run_policy(policies()[name], outputs_only(9, 3, 4), setting)


def test_contradicting_ends_are_refused() -> None:
    """An interval whose ends are the wrong way round is named, not turned."""
    with pytest.raises(NotApplicableError, match="low <= high, found 9 and 3"):
        ends(outputs_only(100, 2), "interval", low=9, high=3)


def test_noise_of_huge_outputs() -> None:
    """Wild noise on 10^9 tokens overflows nothing: the upper end is M − s at most."""
    instance = outputs_only(10**9, *[10**9] * 50)
    assert all(upper == 10**9 for _, upper in ends(instance, "noise", sigma=5.0))
    assert ends(instance, "noise", seed=1) != ends(instance, "noise", seed=2)
    assert ends(outputs_only(99, 7), "noise", sigma=0.0) == [(7, 7)]


def test_own_intervals_without_a_model() -> None:
    """Without a model the instance's intervals count, and the output where there is none."""
    instance = Instance("own", 20, (Request(0, 0, 0, 5, 2, 30), Request(1, 0, 4, 6)))
    lower, upper = predict(instance, None, {}, 0)
    assert (lower.tolist(), upper.tolist()) == ([2, 6], [20, 6])


@pytest.mark.parametrize("name", BLIND)
@given(data=st.data(), instance=instances(max_requests=7), seed=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_equal_predictions_equal_decisions(
    name: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """Two instances that differ in outputs only are served alike until a completion differs."""
    first, second = (
        told_as(instance, [data.draw(st.integers(1, r.output)) for r in instance.requests])
        for _ in range(2)
    )
    one, other = run(name, first, seed), run(name, second, seed)
    if one is None or other is None:
        return
    differing = completions(first, one) ^ completions(second, other)
    cut = min((time for _, time in differing), default=10**9)
    assert begins_before(first, one, cut) == begins_before(second, other, cut)


def told_as(instance: Instance, outputs: list[int]) -> Instance:
    """Replace the outputs; every prediction is [1, the output before]."""
    requests = tuple(
        Request(r.id, r.arrival, r.prompt, o, 1, r.output)
        for r, o in zip(instance.requests, outputs, strict=True)
    )
    return Instance("told", instance.memory, requests)


def completions(instance: Instance, schedule: Schedule) -> set[tuple[int, int]]:
    return {
        (i, start + request.output)
        for i, (start, request) in enumerate(zip(schedule.starts, instance.requests, strict=True))
    }


@pytest.mark.parametrize("name", BLIND)
def test_nothing_handed_to_a_policy_leads_to_the_outputs(name: str) -> None:
    """What can be reached from what a policy is given is the same whatever the outputs are."""
    found = []
    for outputs in ([17, 23, 19, 29, 31], [30, 21, 18, 26, 27]):
        requests = tuple(Request(i, i, 3 + i, o, 11, 41) for i, o in enumerate(outputs))
        handed: list[list[str]] = []
        run_policy(spied_on(policies()[name], handed), Instance("hidden", 130, requests))
        assert handed
        for contents in handed:
            assert str(outputs) not in contents
            assert not [each for each in contents if each.startswith(("Instance", "Request"))]
        found.append(handed)
    assert found[0] == found[1]


def test_the_walk_finds_what_is_hidden() -> None:
    """The test above would see outputs in an attribute, a closure, a view or an instance."""
    outputs = [17, 23]
    instance = outputs_only(100, *outputs)

    class Holder:
        def __init__(self, thing: object) -> None:
            self.thing = thing

    for hidden in (outputs, {"a": outputs}, lambda: outputs, instance.outputs[:1], instance):
        contents = everything(Holder(hidden))
        assert str(outputs) in contents or any(each.startswith("Instance") for each in contents)


def spied_on(policy: Policy, handed: list[list[str]]) -> Policy:
    """Make the policy write down all that it can reach when it is first asked for a decision."""

    def spy(function: Any) -> Any:
        def asked(*arguments: Any) -> Any:
            # Later calls follow completions, which may reveal outputs.
            if not handed:
                handed.append(everything(list(arguments)))
            return function(*arguments)

        return asked

    if isinstance(policy, ListPolicy):
        return replace(policy, rank=spy(policy.rank))
    if isinstance(policy, PlanPolicy):
        return replace(policy, plan=spy(policy.plan))
    assert isinstance(policy, RoundPolicy)
    make = policy.rules

    def make_spied(known: Known) -> Rules:
        rules = make(known)
        handed.append(everything([known]))
        admit = rules.admit

        def admit_and_look(state: State) -> list[int]:
            if len(handed) == 1:
                handed.append(everything([state, state.made, state.kept]))
            return admit(state)

        rules.admit = admit_and_look  # type: ignore[method-assign]
        return rules

    return replace(policy, rules=make_spied)


def everything(start: object) -> list[str]:
    """Return, sorted, what can be reached: lists, tuples and arrays as lists, others by type."""
    return sorted(shown for shown in (show(each) for each in reachable(start)) if shown)


def show(thing: object) -> str:
    if isinstance(thing, np.ndarray):
        return str(thing.tolist())
    if isinstance(thing, list | tuple):
        # Only flat sequences of numbers; what others hold is reached by itself.
        flat = all(isinstance(each, int | float | np.generic) for each in thing)
        return str([int(each) for each in thing]) if flat else ""
    return type(thing).__name__


def reachable(start: object) -> Iterator[object]:
    """Yield all objects that can be reached without going through modules, types and globals."""
    seen: set[int] = set()
    stack = [start]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | type):
            continue
        seen.add(id(thing))
        yield thing
        if isinstance(thing, types.FunctionType):
            # Not ``__globals__``: a module's names are no secret, the run's values are.
            stack += [thing.__closure__, thing.__defaults__]
        elif isinstance(thing, np.ndarray):
            stack.append(thing.base)
        else:
            stack += gc.get_referents(thing)


@pytest.mark.parametrize("name", BLIND)
def test_blind_policies_are_those_that_no_prediction_changes(name: str) -> None:
    """What is declared to use nothing of the outputs does; all others use what they are told."""
    outputs = (9, 1, 7, 2, 5, 3, 8, 4, 6, 2, 1, 9)
    instance = instance_of(24, *((i // 3, 1 + i % 4, o) for i, o in enumerate(outputs)))
    told: list[tuple[str, Values]] = [
        ("exact", {}),
        ("interval", {"low": 1, "high": 9}),
        ("bins", {"width": 4}),
    ]
    schedules = [
        run_policy(
            policies()[name],
            instance,
            Setting(prediction=PREDICTIONS[model], prediction_values=values),
        )
        for model, values in told
    ]
    different = {(each.starts, each.attempts) for each in schedules}
    assert (len(different) == 1) == policies()[name].blind
