"""Real time: every policy against a literal transcription, unit rounds, and the checker."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import kernel_compiler
from heuristics.equal_rounds import pass_rounds
from heuristics.policy import AdvisedPolicy, NotApplicableError
from heuristics.policy_registry import policies
from heuristics.reference import EndlessError, ManyRoundsError, UnservableError
from heuristics.simulator import RunSetting, policy_generator, run_policy
from instances import Instance, Request
from instances.batch_time import BatchTime, parse_batch_time
from schedules import Schedule, check_schedule
from schedules.clock import replay_schedule
from schedules.schedule import CACHED
from tests.heuristics.twins import options_of, twin
from tests.oracles.draws import instance_of
from tests.oracles.real_time import Literal, UndecidedError, in_real_time
from tests.oracles.real_time_serving import (
    CannotServeError,
    TooLongError,
    alpha_beta_stalling,
    sglang_in_chunks,
    vllm_in_chunks,
)
from tests.tiers import a_few

#: Seeds of every policy, of which the first are quick; fewer where the transcription goes through
#: all subsets.
FIRST, CASES = 40, 120
SERVING_CASES = 500
FEWER = {"sorted-f-exact": 50, "sorted-f-amin": 50, "sorted-f-dp": 60}
#: Local search has no transcription; lists of others are served by the same admission.
ONLINE = sorted(
    n for n, p in policies().items() if not isinstance(p, AdvisedPolicy) and n != "local-search"
)
#: Whole seconds, so that requests arrive at the ends of rounds; halves; and nothing round.
MODELS = [
    *map(parse_batch_time, ("unit", "affine(1000,500)")),
    parse_batch_time("linear(base=700,prefill=100,square=25,decode=50,read=12.5)"),
    parse_batch_time("linear(base=0.000123,prefill=1.7,square=0.31,decode=0.000001,read=3.3)"),
    *map(parse_batch_time, ("linear()", "llama2-70b-2xa100(scale=10)")),
]
#: Decided by little sums of work, so more of them are drawn.
PREEMPTIVE = ("srpt", "srpt-predicted", "las")
#: With other values they mostly loop for ever here.
ENDING: dict[str, dict[str, Sequence[Any]]] = {
    "alpha-greedy": {"alpha": (0.5, 0.7, 0.9)},
    "alpha-beta": {"beta": (0.2, 0.5, 0.9)},
    # Its transcription in rounds has no seconds to age by.
    "trtllm-sjf": {"fade": (0.0,)},
}
MORE = [(name, 800 if name in PREEMPTIVE else FEWER.get(name, CASES)) for name in ONLINE]


def drawn(seed: int) -> tuple[Instance, BatchTime, np.random.Generator]:
    """Draw requests in order of their arrivals: at once, bunched, with gaps, or at any time."""
    rng = np.random.default_rng([7, seed])
    memory = int(rng.integers(2, 17))
    n = int(rng.integers(1, 8))
    kind = int(rng.integers(0, 4))
    if kind == 0:
        arrivals = [0.0] * n
    elif kind == 1:
        arrivals = (rng.integers(0, 8, n) * 0.5).tolist()
    elif kind == 2:
        arrivals = (rng.integers(0, 5, n) * 10.0).tolist()
    else:
        arrivals = rng.uniform(0, 12, n).round(int(rng.integers(1, 9))).tolist()
    requests = []
    for i, arrival in enumerate(sorted(arrivals)):
        output = int(rng.integers(1, memory + 1))
        prompt = int(rng.integers(0, memory - output + 1))
        lower = int(rng.integers(1, output + 1))
        upper = output + int(rng.integers(0, 6))
        requests.append(Request(i, arrival, prompt, output, lower, upper))
    instance = Instance("drawn", memory, tuple(requests), time_unit="second")
    return instance, MODELS[int(rng.integers(0, len(MODELS)))], rng


def values_for(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Draw parameters that make a difference on small instances."""
    options = options_of(name) | ENDING.get(name, {})
    return {key: each[int(rng.integers(len(each)))] for key, each in options.items()}


def assert_equal(instance: Instance, schedule: Schedule, expected: Literal) -> None:
    """Hold a schedule against the literal one, field by field, and let the checker see it."""
    n = len(instance)
    assert list(schedule.starts) == expected.starts
    assert [list(each) for each in schedule.attempts or [()] * n] == expected.attempts
    if schedule.kept is None:
        assert not any(map(any, expected.kept))
    else:
        assert [list(each) for each in schedule.kept] == expected.kept
    assert schedule.clock is not None
    assert list(schedule.clock.begins) == expected.begins
    assert schedule.tel == expected.tel(instance.arrival_times.tolist())
    if schedule.clock.prefills is not None:
        found = [[list(chunks) for chunks in each] for each in schedule.clock.prefills]
        assert found == expected.chunks
    verdict = check_schedule(instance, schedule)
    assert verdict.valid, verdict.reason
    times = replay_schedule(instance, schedule).requests
    assert [each.completion for each in times] == expected.completions


@pytest.mark.parametrize(
    ("name", "cases"), a_few([*((name, FIRST) for name in ONLINE), *MORE], len(ONLINE))
)
def test_a_policy_in_real_time_equals_its_transcription(name: str, cases: int) -> None:
    """Second by second, whatever the batch time: starts, evictions, gaps, and all times."""
    undecided = 0
    for seed in range(cases):
        instance, batch_time, rng = drawn(seed)
        values = values_for(name, rng)
        setting = RunSetting(values=values, seed=seed, batch_time=batch_time)
        given = values | {"arrived": [request.arrival for request in instance.requests]}
        coefficients = batch_time.coefficients
        unit = partial(twin, name, values=given, seed=seed, coefficients=coefficients)
        arrivals = instance.arrival_times.tolist()
        try:
            expected = in_real_time(instance, arrivals, coefficients, unit)
        except (EndlessError, ManyRoundsError, UnservableError, UndecidedError):
            # The guess fails, not the run, which nothing describes then.
            undecided += 1
            continue
        schedule = run_policy(policies()[name], instance, setting)
        if schedule.clock is not None and schedule.clock.cached:
            # A pause, after which a transcription in rounds prefills anew.
            assert (name, schedule.easier) == ("vllm-priority", CACHED)
            undecided += 1
            continue
        assert_equal(instance, schedule, expected)
    assert undecided <= cases // 2, undecided


def _against(
    name: str, values: dict[str, Any], seed: int, literal: Any, **arguments: Any
) -> tuple[Schedule, Literal] | None:
    instance, batch_time, _ = drawn(seed)
    setting = RunSetting(values=values, seed=seed, batch_time=batch_time)
    arrivals = instance.arrival_times.tolist()
    try:
        expected = literal(instance, arrivals, batch_time.coefficients, **arguments)
    except CannotServeError:
        with pytest.raises(NotApplicableError):
            run_policy(policies()[name], instance, setting)
        return None
    except TooLongError:
        return None
    schedule = run_policy(policies()[name], instance, setting)
    assert_equal(instance, schedule, expected)
    return schedule, expected


@pytest.mark.parametrize(
    ("name", "literal", "key", "number"),
    [("vllm-v1", vllm_in_chunks, "budget", 11), ("sglang-ratio", sglang_in_chunks, "chunk", 12)],
)
def test_prompts_in_chunks_equal_their_transcription(
    name: str, literal: Any, key: str, number: int
) -> None:
    """Prompts are cut at the limit of tokens, wait their turn, and are evicted on their way."""
    cut = aborted = 0
    for seed in range(SERVING_CASES):
        rng = np.random.default_rng([number, seed])
        values = values_for(name, rng)
        values = values | ({"chunk": "yes"} if key == "budget" else {})
        values[key] = int(rng.integers(1, 7))
        if name == "vllm-v1":
            left_out = ("chunk", "asynchronous", "resume", "long_prefill")
            given = {each: value for each, value in values.items() if each not in left_out}
        else:
            instance, _, _ = drawn(seed)
            most = [(r.output_upper or 0, instance.memory - r.prompt) for r in instance.requests]
            draw = policy_generator(seed).random
            given = values | {"upper": [*map(min, most)], "draw": draw}
        found = _against(name, values, seed, literal, **given)
        if found is None:
            assert name == "vllm-v1"
            continue
        cut += any(len(chunks) > 1 for each in found[1].chunks for chunks in each)
        aborted += _aborted(found[0])
    assert cut > 100, cut
    assert aborted > (3 if name == "vllm-v1" else 0), aborted


@pytest.mark.parametrize(
    ("name", "in_seconds", "in_rounds"),
    [
        # Without chunks the engine's budget is no less than its longest sequence.
        ("vllm-v1", {"chunk": "yes", "budget": 2048}, {"chunk": "no", "budget": 60_000}),
        ("sglang-ratio", {"chunk": 8192}, {"chunk": 0}),
    ],
)
def test_engines_cut_prompts_in_seconds_unless_told_otherwise(
    name: str, in_seconds: dict[str, Any], in_rounds: dict[str, Any]
) -> None:
    """The engine's own default in seconds, which is not what it is in rounds; both can be asked."""
    policy, batch_time = policies()[name], parse_batch_time("affine(base=50,token=0.5)")
    # Prompts beyond each limit: whole they begin alone, cut they take several rounds.
    timed = instance_of(
        60_000, *((0, 5000 + 4000 * (k % 2), 20) for k in range(6)), time_unit="second"
    )
    plain = replace(timed, time_unit="round")
    default = run_policy(policy, timed, RunSetting(batch_time=batch_time))
    asked, whole = (
        run_policy(policy, timed, RunSetting(values, batch_time=batch_time))
        for values in (in_seconds, in_rounds)
    )
    assert (default.starts, default.clock) == (asked.starts, asked.clock)
    assert default.clock != whole.clock
    assert (
        run_policy(policy, plain).starts == run_policy(policy, plain, RunSetting(in_rounds)).starts
    )


@pytest.mark.parametrize(
    ("gpu", "limits"),
    [
        *((gpu, {"budget": 8192, "running": 1024}) for gpu in (" on h100-80", " on h200-141")),
        *((gpu, {"budget": 2048, "running": 256}) for gpu in ("", " on a100-80", " on l40s-48")),
    ],
)
def test_vllm_has_the_limits_of_the_gpu(gpu: str, limits: dict[str, Any]) -> None:
    """Of the batch time's: one token or one seat less shows on 1,100 requests."""
    timed = instance_of(
        10**6, (0, 16_000, 2), *((0, 9, 40) for _ in range(1100)), time_unit="second"
    )
    setting = RunSetting(batch_time=parse_batch_time(f"affine(base=50,token=0.5){gpu}"))

    def made(**values: int) -> object:
        schedule = run_policy(policies()["vllm-v1"], timed, replace(setting, values=values))
        return schedule.starts, schedule.clock

    assert made() == made(**limits)
    assert all(made() != made(**limits | {name: value - 1}) for name, value in limits.items())


def test_stalling_equals_its_transcription() -> None:
    """One pass of draws, and time passes while the rest does not fit."""
    stalled = 0
    for seed in range(SERVING_CASES):
        rng = np.random.default_rng([13, seed])
        values = values_for("alpha-beta", rng)
        stall, draw = values | {"stall": "yes"}, policy_generator(seed).random
        given = {key: values[key] for key in ("alpha", "beta")}
        found = _against("alpha-beta", stall, seed, alpha_beta_stalling, draw=draw, **given)
        if found is None:
            continue
        instance, batch_time, _ = drawn(seed)
        setting = RunSetting(values=values, seed=seed, batch_time=batch_time)
        clear = run_policy(policies()["alpha-beta"], instance, setting)
        stalled += clear.clock != found[0].clock
    assert stalled > 20, stalled


def _aborted(schedule: Schedule) -> bool:
    """Return whether a request was evicted while its prompt was on its way."""
    kept = schedule.kept or [(0,) * (len(each) + 1) for each in schedule.attempts or ()]
    return any(
        tokens == before
        for each, counts in zip(schedule.attempts or (), kept, strict=False)
        for (_, tokens), before in zip(each, counts, strict=False)
    )


@pytest.mark.parametrize("name", ["mc-sf", "mc-sf-first-fit"])
def test_the_compiled_kernel_makes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled for large instances, it says what the same source says interpreted."""
    for seed in range(60):
        instance, batch_time, _ = drawn(seed)
        setting = RunSetting(batch_time=batch_time)
        plain = run_policy(policies()[name], instance, setting)
        monkeypatch.setattr(kernel_compiler, "COMPILE_FROM", 1)
        assert run_policy(policies()[name], instance, setting) == plain
        monkeypatch.undo()


@pytest.mark.parametrize(
    "text",
    ["linear(base=1000000000,decode=1000000000)", "linear(square=1000000000,read=1000000000)"],
)
def test_numbers_beyond_64_bits_are_exact(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a sum could exceed 64 bits nothing is compiled, and the checker says the same."""
    monkeypatch.setattr(kernel_compiler, "COMPILE_FROM", 1)
    instance = instance_of(
        10**9, *((i * 10**9, 4 * 10**8 * (i % 3), 30 + i) for i in range(4)), time_unit="second"
    )
    setting = RunSetting(batch_time=parse_batch_time(text))
    schedule = run_policy(policies()["mc-sf"], instance, setting)
    assert schedule.tel > 2**53
    verdict = check_schedule(instance, schedule)
    assert verdict.valid, verdict.reason


def test_a_stretch_longer_than_64_bits_hold() -> None:
    """10^9 rounds, most of them longer than 2^62 ns, are one sum: the arithmetic series."""
    instance = Instance("huge", 10**9, (Request(0, 0, 1, 10**9 - 1),), time_unit="second")
    setting = RunSetting(batch_time=parse_batch_time("linear(read=1000000000)"))
    schedule = run_policy(policies()["mc-sf"], instance, setting)
    # The first round takes 1 ns; then 2, 3, .., 10^9 − 1 tokens are read at 10^15 ns.
    assert schedule.tel == 1 + 10**15 * ((10**9 - 1) * 10**9 // 2 - 1)


@given(
    first=st.integers(0, 5000),
    slope=st.integers(0, 5000),
    rounds=st.integers(0, 700),
    limit=st.integers(0, 3000),
)
@settings(max_examples=300, deadline=None)
def test_a_stretch_is_the_sum_of_its_rounds(
    first: int, slope: int, rounds: int, limit: int
) -> None:
    """Short or long, up to the first round that begins when the limit has passed."""
    count = passed = 0
    while count < rounds and passed < limit:
        passed += max(1, -(-(first + count * slope) // 1000))
        count += 1
    assert pass_rounds(first, slope, rounds, limit) == (count, passed)


def test_a_policy_that_does_not_apply_says_so() -> None:
    """The LP is in rounds; chunks and stalled rounds have no place in unit rounds."""
    timed, batch_time, _ = drawn(3)
    for name in ("sorted-lp", "lp-swap"):
        with pytest.raises(NotApplicableError, match="is in rounds"):
            run_policy(policies()[name], timed, RunSetting(batch_time=batch_time))
    requests = tuple(replace(each, arrival=0) for each in timed.requests)
    plain = replace(timed, requests=requests, time_unit="round")
    for name, value in (
        ("vllm-v1", {"chunk": "yes"}),
        ("sglang-ratio", {"chunk": 3}),
        ("alpha-beta", {"stall": "yes"}),
    ):
        values = {each.name: each.default for each in policies()[name].parameters} | value
        with pytest.raises(NotApplicableError, match="expected arrivals in seconds"):
            run_policy(policies()[name], plain, RunSetting(values=values))
    for instance, setting in ((timed, RunSetting()), (plain, RunSetting(batch_time=batch_time))):
        with pytest.raises(ValueError, match="has arrivals in"):
            run_policy(policies()["mc-sf"], instance, setting)
