"""Policies on chat lengths, M = 16,492: time, TEL against another policy's, cancelled runs."""

from functools import cache

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from instances.families.chat_lognormal import generate
from kvopt.methods.grammar import read_method
from schedules import check_schedule

SERVING = ["alpha-greedy", "alpha-beta", "vllm-v1", "vllm-v1(block=16)", "wait", "nested-wait"]
SERVING += ["sglang-ratio", "sglang-ratio(order=shortest-prefill-first)"]


@cache
def _chat(n: int, arrivals: str = "burst") -> Instance:
    """Return chat requests, all at round 0 or about one arriving per round."""
    burst = generate(n=n)
    if arrivals == "burst":
        return burst
    rounds = np.floor(np.cumsum(np.random.default_rng(0).exponential(1.0, n))).astype(int).tolist()
    requests = tuple(
        Request(request.id, round_, request.prompt, request.output)
        for request, round_ in zip(burst.requests, rounds, strict=True)
    )
    return Instance("chat_over_time", burst.memory, requests)


def _compare(benchmark: BenchmarkFixture, call: str, instance: Instance) -> None:
    """Run a policy with exact predictions, and note its TEL over that of ``svf``."""
    read = read_method(call).call
    assert read is not None
    arguments = read.policy, instance, RunSetting(read.values, PREDICTIONS["exact"])
    try:
        schedule = benchmark.pedantic(run_policy, arguments, rounds=5, warmup_rounds=1)
    except EndlessLoopError as error:
        benchmark.extra_info["outcome"] = str(error)
        return
    verdict = check_schedule(instance, schedule)
    assert verdict.valid, verdict.reason
    other = run_policy(policies()["svf"], instance)
    benchmark.extra_info["TEL / TEL of svf"] = schedule.tel / other.tel
    benchmark.extra_info["cancelled runs"] = sum(map(len, schedule.attempts or ()))


@pytest.mark.parametrize("arrivals", ["burst", "one per round"])
@pytest.mark.parametrize("call", SERVING)
def test_serving_engines(call: str, arrivals: str, benchmark: BenchmarkFixture) -> None:
    """At n = 10^4, which know the outputs or no lengths."""
    _compare(benchmark, call, _chat(10_000 if benchmark.enabled else 300, arrivals))


@pytest.mark.parametrize(
    ("name", "full"),
    [("sorted-f-dp", 100), ("sorted-f-swap", 2_000), ("sorted-f-quantile", 100_000)],
)
def test_sorted_f(name: str, full: int, benchmark: BenchmarkFixture) -> None:
    """Phase 1 and the common admission together, at the size that each form is meant for."""
    _compare(benchmark, name, _chat(full if benchmark.enabled else 50))
