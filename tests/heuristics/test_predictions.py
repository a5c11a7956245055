"""Prediction models, and that a policy which is not clairvoyant learns no output too early."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy import (
    Forecast,
    Ints,
    Keys,
    Known,
    ListPolicy,
    NotApplicableError,
    PlanPolicy,
    Values,
)
from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS, predict
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
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
    "overestimate": st.fixed_dictionaries({"factor": st.floats(1, 100)}),
    "rank": st.fixed_dictionaries({"accuracy": st.floats(0.5, 1)}),
    "refreshed": st.fixed_dictionaries({"sigma": st.floats(0, 5), "step": st.integers(1, 9)}),
    "log-t": st.fixed_dictionaries({"sigma": st.floats(0, 5)}),
    "histogram": st.fixed_dictionaries({"sigma": st.floats(0, 5), "groups": st.integers(1, 9)}),
}


def outputs_only(memory: int, *outputs: int) -> Instance:
    return Instance("o", memory, tuple(Request(i, 0, 0, o) for i, o in enumerate(outputs)))


def ends_of(forecast: Forecast) -> tuple[Ints, Ints]:
    return forecast.lower, forecast.upper


def ends(instance: Instance, name: str, seed: int = 0, **values: Any) -> list[tuple[int, int]]:
    lower, upper = ends_of(predict(instance, PREDICTIONS[name], values, seed))
    return list(zip(lower.tolist(), upper.tolist(), strict=True))


def told(forecast: Forecast) -> list[Any]:
    laws = None if forecast.laws is None else forecast.laws.tolist()
    ends = (forecast.lower, forecast.upper, forecast.estimates)
    return [*(each.tolist() for each in ends), laws, forecast.later]


#: Predictions that depend on all outputs.
RELATIVE_TO_ALL = {"deciles", "rank", "histogram"}


@pytest.mark.parametrize("name", sorted(PREDICTIONS))
@given(data=st.data(), instance=instances(), seed=st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_intervals_hold_the_output(
    name: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """1 <= lower <= o <= upper <= M − s, whatever the values; the same seed draws the same."""
    values = data.draw(VALUES[name])
    found = predict(instance, PREDICTIONS[name], values, seed)
    most = instance.memory - instance.prompts
    assert (found.lower >= 1).all()
    assert (found.lower <= instance.outputs).all()
    assert (instance.outputs <= found.upper).all()
    assert (found.upper <= most).all()
    for i, o in enumerate(instance.outputs.tolist()):
        assert all(1 <= found.estimate(i, made) <= most[i] for made in range(o))
    again = predict(instance, PREDICTIONS[name], values, seed)
    assert told(again) == told(found)


@pytest.mark.parametrize("name", sorted(VALUES.keys() - RELATIVE_TO_ALL))
@given(data=st.data(), instance=instances(), seed=st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_later_requests_change_no_prediction(
    name: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """What is predicted of a request does not depend on how many follow it."""
    values = data.draw(VALUES[name])
    longer = Instance("longer", instance.memory, (*instance.requests, Request(99, 9, 0, 1)))
    first, all_ = (
        told(predict(each, PREDICTIONS[name], values, seed)) for each in (instance, longer)
    )
    assert [each and each[:-1] for each in all_] == first


def test_ranges_of_the_paper() -> None:
    """C sec. 6: one rough interval, ten classes, and (1 − x)o to (1 + x)o."""
    instance = outputs_only(5000, 1, 100, 101, 883, 1000)
    assert ends(instance, "interval") == [(1, 1000)] * 5
    assert ends(instance, "bins") == [(1, 100), (1, 100), (101, 200), (801, 900), (901, 1000)]
    # Rounded outwards: 0.1·1 = 0.1, 0.1·101 = 10.1, 0.1·883 = 88.3; the lower end is at least 1.
    expected = [(1, 2), (90, 110), (90, 112), (794, 972), (900, 1100)]
    assert ends(instance, "relative", x=0.1) == expected


def test_deciles_of_all_outputs() -> None:
    """Ten classes of two; equal outputs are of one class, that of the first of them."""
    stated = ends(outputs_only(5000, *range(10, 210, 10)), "deciles")
    assert stated == [(max(1, high - 19), high) for high in range(20, 201, 20) for _ in range(2)]
    # The tenths of 3, 3, 3, 3, 8, 9 end at places 1, 2, 2, 3, 3, 4, 5, 5, 6, 6.
    stated = ends(outputs_only(20, 8, 3, 3, 9, 3, 3), "deciles")
    assert stated == [(4, 8), (1, 3), (1, 3), (9, 9), (1, 3), (1, 3)]


@pytest.mark.parametrize("x", [0.1, 0.5, 0.9, 0.95, 0.99])
def test_relative_ends_are_not_rounded_twice(x: float) -> None:
    """Where (1 ± x)o is an integer, the ends are that integer, as floats would not have it."""
    instance = outputs_only(1000, *range(100, 500, 100))
    hundredths = round(100 * x)
    assert ends(instance, "relative", x=x) == [
        (o - hundredths * o // 100, o + hundredths * o // 100) for o in range(100, 500, 100)
    ]


@pytest.mark.parametrize(
    ("low", "high", "stated"),
    [
        (5, 40, r"found \[5, 40\] for request id 0, which makes 2 tokens$"),
        (1, 20, r"found \[1, 20\] for request id 2, which makes 40 tokens$"),
        (5, 20, r"found \[5, 20\] for request id 0, which makes 2 tokens \(and 1 more requests\)$"),
        (9, 3, "low <= high, found 9 and 3"),
    ],
)
def test_an_interval_that_does_not_hold_an_output_is_refused(
    low: int, high: int, stated: str
) -> None:
    """It is not moved to the output, which would reveal it; the first such request is named."""
    instance = outputs_only(100, 2, 10, 40)
    with pytest.raises(NotApplicableError, match=stated):
        ends(instance, "interval", low=low, high=high)
    assert ends(instance, "interval", low=2, high=40) == [(2, 40)] * 3


@pytest.mark.parametrize("name", [name for name in BLIND if not policies()[name].blind])
def test_no_policy_is_told_a_wrong_interval(name: str) -> None:
    """Every policy with predictions is refused alike, before it decides anything."""
    setting = RunSetting(
        prediction=PREDICTIONS["interval"], prediction_values={"low": 1, "high": 3}
    )
    with pytest.raises(NotApplicableError, match="request id 1, which makes 4 tokens"):
        run_policy(policies()[name], outputs_only(9, 3, 4), setting)


def test_noise_of_huge_outputs() -> None:
    """Wild noise on 10^9 tokens overflows nothing: the upper end is M − s at most."""
    instance = outputs_only(10**9, *[10**9] * 50)
    assert all(upper == 10**9 for _, upper in ends(instance, "noise", sigma=5.0))
    assert ends(instance, "noise", seed=1) != ends(instance, "noise", seed=2)
    assert ends(outputs_only(99, 7), "noise", sigma=0.0) == [(7, 7)]


def test_own_intervals_without_a_model() -> None:
    """Without a model the instance's intervals count, and the output where there is none."""
    instance = Instance("own", 20, (Request(0, 0, 0, 5, 2, 30), Request(1, 0, 4, 6)))
    lower, upper = ends_of(predict(instance, None, {}, 0))
    assert (lower.tolist(), upper.tolist()) == ([2, 6], [20, 6])


def drawn(data: st.DataObject, request: Request) -> Request:
    """Draw another output; the prediction is [1, the output before]."""
    output = data.draw(st.integers(1, request.output))
    return replace(request, output=output, output_lower=1, output_upper=request.output)


@pytest.mark.parametrize("name", BLIND)
@given(data=st.data(), instance=instances(max_requests=7), seed=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_equal_predictions_equal_decisions(
    name: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """Two instances that differ in outputs only are served alike until a completion differs."""
    first, second = (
        replace(instance, requests=tuple(drawn(data, each) for each in instance.requests))
        for _ in range(2)
    )
    one, other = run(name, first, seed), run(name, second, seed)
    if one is None or other is None:
        return
    ends = [
        {*enumerate(np.array(schedule.starts) + of.outputs)}
        for of, schedule in ((first, one), (second, other))
    ]
    cut = min((time for _, time in ends[0] ^ ends[1]), default=10**9)
    assert begins_before(first, one, cut) == begins_before(second, other, cut)


@pytest.mark.parametrize("name", BLIND)
def test_blind_policies_are_those_that_no_prediction_changes(name: str) -> None:
    """Policies declared blind use nothing of the outputs; all others use their predictions."""
    outputs = (9, 1, 7, 2, 5, 3, 8, 4, 6, 2, 1, 9)
    instance = instance_of(26, *((i // 3, 1 + i % 4, o) for i, o in enumerate(outputs)))
    stated: dict[str, Values] = {"exact": {}, "interval": {"low": 1, "high": 9}}
    stated["bins"] = {"width": 4}
    told = [RunSetting(None, PREDICTIONS[model], values) for model, values in stated.items()]
    schedules = [run_policy(policies()[name], instance, each) for each in told]
    different = {(each.starts, each.attempts) for each in schedules}
    assert (len(different) == 1) == policies()[name].blind


EXACT: dict[str, Values] = {
    "exact": {},
    "bins": {"width": 1},
    "relative": {"x": 0.0},
    "noise": {"sigma": 0.0},
    "overestimate": {"factor": 1.0},
    "rank": {"accuracy": 1.0},
    "refreshed": {"sigma": 0.0},
    "log-t": {"sigma": 0.0},
    "histogram": {"sigma": 0.0, "groups": 10**6},
}


@pytest.mark.parametrize("name", EXACT)
@given(instance=instances(), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_the_exact_end_of_a_prediction(name: str, instance: Instance, seed: int) -> None:
    """Estimates and laws are the outputs; a group of a histogram holds equal ones at least."""
    outputs = instance.outputs
    values = EXACT[name]
    if name == "histogram":
        outputs = np.arange(1, len(instance) + 1)
        rows = zip(instance.requests, outputs.tolist(), strict=True)
        instance = Instance("d", 10**6, tuple(replace(r, output=o) for r, o in rows))
        values = values | {"groups": len(instance)}
    found = predict(instance, PREDICTIONS[name], values, seed)
    assert found.estimates.tolist() == outputs.tolist()
    if found.laws is not None:
        assert np.allclose(found.laws, outputs[:, None])


def test_rank_accuracy_is_the_share_of_pairs_in_the_right_order() -> None:
    """Over 40 draws of 60 outputs each; the estimates are the outputs in another order."""
    instance = outputs_only(1000, *range(1, 61))
    for accuracy in (0.5, 0.6, 0.75, 0.9, 1.0):
        right = []
        for seed in range(40):
            values = {"accuracy": accuracy}
            found = predict(instance, PREDICTIONS["rank"], values, seed).estimates
            assert sorted(found.tolist()) == instance.outputs.tolist()
            above = np.triu(found[None, :] > found[:, None], 1)
            right.append(above.sum() / (60 * 59 / 2))
        assert abs(float(np.mean(right)) - accuracy) < 0.02


def test_predictions_refreshed_by_tokens() -> None:
    """After every ``step`` tokens there is another estimate, above what is made."""
    found = predict(outputs_only(1000, 10, 3), PREDICTIONS["refreshed"], {"step": 4}, 1)
    assert found.later is not None
    assert [len(each) for each in found.later] == [3, 1]
    assert [found.estimate(0, made) for made in (0, 3, 4, 8)] == [
        *[found.later[0][0]] * 2,
        *found.later[0][1:],
    ]
    assert found.later[0][2] > 8


def test_laws_by_hand() -> None:
    """Two groups of a histogram; the median of a log-t law without noise is the output."""
    found = predict(
        outputs_only(99, 1, 9, 2, 7), PREDICTIONS["histogram"], {"groups": 2, "sigma": 0}, 0
    )
    assert found.laws is not None
    assert found.laws[:, [0, 49, 50, 99]].tolist() == [[1, 1, 2, 2], [7, 7, 9, 9]] * 2
    assert found.estimates.tolist() == [2, 8, 2, 8]


@pytest.mark.parametrize("name", PREDICTIONS)
def test_what_draws_says_so(name: str) -> None:
    """Another seed changes the forecast of these models, and of no other."""
    values = {"low": 1.0, "high": 999.0} if name == "interval" else {}
    forty = outputs_only(999, *range(20, 60))
    one, other = (predict(forty, PREDICTIONS[name], values, seed).estimates for seed in (0, 1))
    assert PREDICTIONS[name].draws == bool((one != other).any())


def test_a_plan_takes_upper_ends_for_outputs() -> None:
    """Of later arrivals, too: smallest upper end first, within the memory of the upper ends."""
    # Of M = 6 the first, from 0 to 3, reserves all; by its true output the second starts at 1.
    requests = (Request(0, 0, 0, 3, 1, 6), Request(1, 1, 0, 4, 1, 4), Request(2, 1, 0, 2, 2, 4))
    plan = PlanPolicy("by-upper", clairvoyant=False, plan=lambda known: np.argsort(known.upper))
    assert run_policy(plan, Instance("three", 6, requests), RunSetting()).starts == (0, 3, 5)


def test_no_policy_sees_later_estimates() -> None:
    """Their number is the output; only the state tells one, after the tokens made."""
    seen: list[Forecast] = []

    def rank(known: Known) -> Keys:
        seen.append(known.forecast)
        return (known.upper,)

    policy = ListPolicy("spy", clairvoyant=False, rank=rank)
    setting = RunSetting(prediction=PREDICTIONS["refreshed"], prediction_values={"step": 1})
    run_policy(policy, outputs_only(9, 3, 4), setting)
    assert [each.later for each in seen] == [None]
