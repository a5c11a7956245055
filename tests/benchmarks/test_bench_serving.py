"""The policies of serving engines on chat lengths, M = 16,492: time, and TEL against svf.

Run with ``pytest tests/benchmarks/test_bench_serving.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from heuristics.registry import policies
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import Setting, run_policy
from instances import Instance, Request
from instances.families.chat_lognormal import generate
from kvopt.methods.grammar import read_method
from schedules import check_schedule

CALLS = (
    "alpha-greedy",
    "alpha-beta",
    "vllm-v1",
    "vllm-v1(block=16)",
    "sglang-ratio",
    "sglang-ratio(order=spf)",
    "wait",
    "nested-wait",
)


@cache
def _chat(n: int, arrivals: str) -> Instance:
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


@pytest.mark.parametrize("arrivals", ["burst", "one per round"])
@pytest.mark.parametrize("call", CALLS)
def test_serving(call: str, arrivals: str, benchmark: Any) -> None:
    """Time of a run at n = 10^4, its TEL over that of svf, and its cancelled runs."""
    instance = _chat(10_000 if benchmark.enabled else 300, arrivals)
    read = read_method(call).call
    assert read is not None
    policy, setting = read.policy, Setting(values=read.values)
    try:
        schedule = benchmark.pedantic(
            run_policy, (policy, instance, setting), rounds=5, warmup_rounds=1
        )
    except EndlessLoopError as error:
        benchmark.extra_info["outcome"] = str(error)
        return
    verdict = check_schedule(instance, schedule)
    assert verdict.valid, verdict.reason
    benchmark.extra_info["TEL / svf"] = schedule.tel / run_policy(policies()["svf"], instance).tel
    benchmark.extra_info["cancelled runs"] = sum(map(len, schedule.attempts or ()))
