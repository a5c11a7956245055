"""Policies that use estimates and laws: their ends, orders by hand, and their transcriptions."""

from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy import ATOMS, Forecast, Values
from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS, PredictionModel, predict
from heuristics.reference.h_sf import largest_batches
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from schedules import Schedule, check_schedule
from tests.heuristics.twins import twin
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances, with_intervals


def run(name: str, instance: Instance, model: str, told: Values, **values: Any) -> Schedule:
    """Return the starts, attempts and kept tokens of a policy under another name."""
    setting = RunSetting(
        values=values, prediction=PREDICTIONS[model], prediction_values=told, seed=3
    )
    schedule = run_policy(policies()[name], instance, setting, method="same")
    assert check_schedule(instance, schedule).valid
    return schedule


#: Predictions that tell the output: for orders, and for reservations too.
ESTIMATES: list[tuple[str, Values]] = [
    ("exact", {}),
    ("overestimate", {"factor": 1.0}),
    ("refreshed", {"sigma": 0.0, "step": 3}),
    ("rank", {"accuracy": 1.0}),
]
ENDS: list[tuple[str, Values]] = [*ESTIMATES[:2], ("bins", {"width": 1}), ("noise", {"sigma": 0.0})]
#: Predictions that tell all requests with equal prompts apart by nothing.
NOTHING: list[tuple[str, Values]] = [
    ("interval", {"low": 1, "high": 10**9}),
    ("rank", {"accuracy": 0.5}),
    ("histogram", {"groups": 1}),
]


@given(instance=instances(), factor=st.sampled_from((1.0, 2.0, 12.0)))
@settings(max_examples=60, deadline=None)
def test_srpt_predicted_with_exact_estimates_is_srpt(instance: Instance, factor: float) -> None:
    """Start by start, exchange by exchange, whichever model tells the outputs."""
    exact = run("srpt", instance, "exact", {}, factor=factor)
    for model, told in ESTIMATES:
        assert run("srpt-predicted", instance, model, told, factor=factor) == exact


@given(instance=instances())
@settings(max_examples=60, deadline=None)
def test_mc_sf_predicted_with_exact_ends_is_mc_sf(instance: Instance) -> None:
    """Start by start, whichever model tells the outputs."""
    exact = run("mc-sf", instance, "exact", {})
    assert all(run("mc-sf-predicted", instance, *each) == exact for each in ENDS)


@given(instance=instances(), beyond=st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_mc_sf_predicted_with_one_interval_is_first_come_first_served(
    instance: Instance, beyond: int
) -> None:
    """It reserves the upper end of all for each, at most M − s."""
    high = int(instance.outputs.max()) + beyond
    rows = enumerate(instance.requests)
    order = sorted((min(high, instance.memory - r.prompt), r.arrival, i) for i, r in rows)
    reserved = [min(high, instance.memory - r.prompt) for r in instance.requests]
    starts = largest_batches(instance, [i for *_, i in order], reserved)
    found = run("mc-sf-predicted", instance, "interval", {"low": 1, "high": high})
    assert list(found.starts) == starts


@st.composite
def equal_prompts(draw: st.DrawFn) -> Instance:
    prompt, outputs = (
        draw(st.integers(0, 4)),
        draw(st.lists(st.integers(1, 9), min_size=1, max_size=21)),
    )
    arrivals = sorted(draw(st.lists(st.integers(0, 20), min_size=len(outputs), unique=True)))
    rows = zip(arrivals, outputs, strict=False)
    return instance_of(prompt + 9 + draw(st.integers(0, 9)), *((a, prompt, o) for a, o in rows))


@given(instance=equal_prompts())
@settings(max_examples=60, deadline=None)
def test_orders_without_information_are_the_engine_s(instance: Instance) -> None:
    """Equal keys leave the order of arrival; so does a boost that falls at once."""
    engine = run("vllm-v1", instance, "exact", {})
    assert all(run("tie", instance, *each, beta=1.0) == engine for each in NOTHING)
    assert run("vllm-priority", instance, *NOTHING[0]) == engine
    assert run("gamma-boost", instance, "exact", {}, gamma=1e6) == engine


@given(outputs=st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_tie_with_exact_laws_is_shortest_first(outputs: list[int]) -> None:
    """Without ageing and with memory for all seats it is the engine's order by priority."""
    # 1.1·o differs by more than 1 between two outputs, so no two scores are rounded to one.
    instance = instance_of(99, *((i // 3, 1, o) for i, o in enumerate(outputs)))
    by_priority = run("vllm-priority", instance, "exact", {}, running=2)
    assert run("tie", instance, "exact", {}, running=2, gamma=1.0) == by_priority


def _laws(*laws: list[float]) -> PredictionModel:
    def tell(outputs: Any, _: Any, __: Any) -> Forecast:
        return Forecast(0 * outputs + 1, 0 * outputs + 50, laws=np.array(laws))

    return PredictionModel("laws", "", tell)


def test_a_tail_counts_more_where_many_wait() -> None:
    """Means 10 and 9, tails 10 and 40: with β = 0.1 scores 11 and 13, with β = 0 alone 10 and 9."""
    steady, risky = [10.0] * ATOMS, [50 / 9] * 90 + [40.0] * 10
    # One at a time.  The first to arrive runs until 2, and both wait then.
    instance = instance_of(99, (0, 0, 2), (1, 0, 5), (1, 0, 5))
    run_with = partial(run_policy, policies()["tie"], instance)
    for beta, first in ((0.1, 2), (1e-6, 1), (0.0, 2)):
        setting = RunSetting(
            values={"beta": beta, "running": 1}, prediction=_laws(steady, risky, steady)
        )
        starts = run_with(setting).starts
        assert starts[first] == 2
        assert starts[3 - first] == 7


def test_ageing_lets_an_old_long_request_go_first() -> None:
    """Scores 22 and 11; 22·γ^(20/τ) against 11·γ^(1/τ): γ = 0.5, τ = 10 ages by 2^1.9."""
    instance = instance_of(99, (0, 0, 20), (0, 0, 20), (19, 0, 10))
    old = run("tie", instance, "exact", {}, running=1, gamma=0.5, tau=10.0)
    assert (old.starts[1], old.starts[2]) == (20, 40)
    young = run("tie", instance, "exact", {}, running=1, gamma=0.99, tau=10.0)
    assert (young.starts[1], young.starts[2]) == (30, 20)


def test_a_short_prompt_is_boosted() -> None:
    """γ = 0.01: prompts 1 and 100 have boosts ln(1/(1 − e^−0.01))/0.01 = 461 and 46."""
    for later, first in ((400, 2), (420, 1)):
        # One at a time; the first runs from 0 until 500, when both wait.
        instance = instance_of(999, (0, 0, 500), (1, 100, 5), (1 + later, 1, 5))
        starts = run("gamma-boost", instance, "exact", {}, running=1).starts
        assert (starts[first], starts[3 - first]) == (500, 505)


LAWS: dict[str, st.SearchStrategy[Values]] = {
    "log-t": st.fixed_dictionaries({"sigma": st.floats(0, 3)}),
    "histogram": st.fixed_dictionaries({"sigma": st.floats(0, 2), "groups": st.integers(1, 4)}),
    "refreshed": st.fixed_dictionaries({"sigma": st.floats(0, 2), "step": st.integers(1, 5)}),
    "rank": st.fixed_dictionaries({"accuracy": st.floats(0.5, 1)}),
}


@pytest.mark.parametrize(("name", "model"), [*product(("srpt-predicted", "tie"), LAWS)])
@given(data=st.data(), instance=instances(), seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_estimates_and_laws_reach_the_policy(
    name: str, model: str, data: st.DataObject, instance: Instance, seed: int
) -> None:
    """The transcription receives them as they are, refreshed ones for each token made."""
    told = data.draw(LAWS[model])
    values = {"factor": data.draw(st.sampled_from((1.0, 2.0)))}
    if name == "tie":
        values = {"beta": data.draw(st.sampled_from((0.0, 0.7))), "running": 2}
    setting = RunSetting(
        values=values, prediction=PREDICTIONS[model], prediction_values=told, seed=seed
    )
    forecast = predict(instance, PREDICTIONS[model], told, seed)
    full = values | {"block": 1, "budget": 8192, "watermark": 0.0, "accounting": "tokens"}
    expected = twin(name, instance, values if name != "tie" else full, forecast=forecast)
    assert run_policy(policies()[name], instance, setting) == expected


def test_a_refreshed_estimate_is_followed() -> None:
    """The first is believed to make 19 tokens, and after 2 to make 3: then both fit."""
    # M = 19, no prompts: at 2 the first has 2, so at 11 both would hold 11 + 9 = 20 if 17 are left.
    # Left are 3 + ... + 19 = 187 against 1 + ... + 9 = 45, a factor of 4: it goes.
    instance = Instance("refreshed", 19, (Request(0, 0, 0, 3), Request(1, 2, 0, 9)))

    def tell(outputs: Any, _: Any, __: Any) -> Forecast:
        later = [[19, 19, 3], [9] * 9]
        return Forecast(0 * outputs + 1, 0 * outputs + 19, np.array([19, 9]), later=later)

    policy, values = policies()["srpt-predicted"], {"factor": 4.0}
    refreshed = run_policy(
        policy, instance, RunSetting(values=values, prediction=PredictionModel("r", "", tell))
    )
    assert (refreshed.starts, refreshed.kept) == ((0, 2), None)
    fixed = PredictionModel("f", "", lambda *each: replace(tell(*each), later=None))
    evicted = run_policy(policy, instance, RunSetting(values=values, prediction=fixed))
    assert evicted.kept


def test_a_better_order_is_a_smaller_mean_where_one_runs_at_a_time() -> None:
    """TEL is the sum of outputs and, of each pair, the output of the one that goes first."""
    # So its mean falls with the share of pairs in the right order; prompts of more than M/2.
    outputs = [1, 2, 4, 7, 11, 16]
    instance = instance_of(99, *((0, 60, o) for o in outputs))
    shares = (0.5, 0.7, 0.9, 1.0)
    means = [np.mean([_tel(instance, share, seed) for seed in range(150)]) for share in shares]
    assert means == sorted(means, reverse=True)
    pairs = [(a, b) for b in outputs for a in outputs if a < b]
    assert means[-1] == sum(outputs) + sum(a for a, _ in pairs)
    assert means[0] == pytest.approx(sum(outputs) + sum(a + b for a, b in pairs) / 2, rel=0.04)


def _tel(instance: Instance, share: float, seed: int) -> int:
    told = {"accuracy": share}
    setting = RunSetting({"factor": 1e9}, PREDICTIONS["rank"], told, seed=seed)
    return run_policy(policies()["srpt-predicted"], instance, setting).tel


def test_over_estimates_keep_the_ratio() -> None:
    """Every prediction of every small instance with equal prompts, against the optimum."""
    policy, worst, cases = policies()["mc-sf-predicted"], 0.0, 0
    (claim,) = policy.guarantees
    assert claim.ratio is not None
    for memory, prompt, n in product((4, 6, 8), (0, 1, 2), (2, 3)):
        most = memory - 1 - prompt
        for outputs in combinations_with_replacement(range(1, most + 1), n):
            plain = instance_of(memory, *((0, prompt, o) for o in outputs))
            optimum = brute_force_optimum(plain)
            for ends in product(*(range(o, most + 1) for o in outputs)):
                if ends[0] < most and n == 3 and memory == 8:
                    continue  # a part of the many
                instance = with_intervals(plain, list(zip(outputs, ends, strict=True)))
                assert claim.applies(instance)
                tel = run_policy(policy, instance).tel
                assert tel <= claim.ratio(instance) * optimum
                worst, cases = max(worst, tel / optimum), cases + 1
    assert cases > 2000
    assert worst > 1.4


def test_over_estimates_that_fill_the_memory_have_no_ratio() -> None:
    """P = s + u below M is assumed; f = 2 and P/M = 1/2 give 1 + 2·8·2 = 33."""
    (claim,) = policies()["mc-sf-predicted"].guarantees
    assert claim.ratio is not None
    assert claim.ratio(instance_of(10, (0, 1, 2, 2, 4), (0, 1, 3, 2, 4))) == 33
    assert not claim.applies(instance_of(5, (0, 1, 2, 2, 4)))
    assert not claim.applies(instance_of(10, (0, 1, 2), (0, 2, 2)))
    assert not claim.applies(instance_of(10, (0, 1, 2), (1, 1, 2)))
