"""Policies in real time against unit rounds: chat lengths, 50 requests a second, M = 16,492."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from heuristics import admission
from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from instances.batch_time import parse_batch_time
from instances.families.chat import generate
from schedules import check_schedule
from tests.benchmarks.timing import seconds

POLICIES = ("mc-sf", "mc-sf-first-fit", "a-min", "vllm-v1", "sorted-f-swap")
#: Requests a second, and about the seconds of a round, by which the same requests get rounds.
RATE, ROUND = 50, 0.08


def trace(n: int) -> Instance:
    """Return chat lengths with Poisson arrivals in seconds."""
    rng = np.random.default_rng(0)
    arrivals = np.cumsum(rng.exponential(1 / RATE, n)).round(6).tolist()
    lengths = generate(n=n).requests
    requests = tuple(replace(each, arrival=at) for each, at in zip(lengths, arrivals, strict=True))
    return Instance("chat at 50", 16_492, requests, time_unit="second")


def in_rounds(timed: Instance) -> Instance:
    """Return the same requests, each visible to the first round that begins at its arrival."""
    requests = tuple(
        replace(each, arrival=math.ceil(each.arrival / ROUND)) for each in timed.requests
    )
    return replace(timed, requests=requests, time_unit="round")


@pytest.mark.parametrize("policy", POLICIES)
def test_real_time_against_unit_rounds(policy: str, benchmark: Any) -> None:
    """At n = 10,000, and the same requests in unit rounds in the same run."""
    n = 10_000 if benchmark.enabled else 150
    timed = trace(n)
    rounds = in_rounds(timed)
    setting = RunSetting(batch_time=parse_batch_time("llama2-70b-2xa100"))
    admission.compile_kernels()
    schedule = benchmark.pedantic(
        run_policy, (policies()[policy], timed, setting), rounds=3, warmup_rounds=1
    )
    repeats, own = 3 if benchmark.enabled else 1, policies()[policy]
    took = seconds(lambda: run_policy(own, timed, setting), repeats)
    in_unit_rounds = seconds(lambda: run_policy(own, rounds), repeats)
    benchmark.extra_info["real time / unit rounds"] = took / in_unit_rounds
    assert check_schedule(timed, schedule).valid
    benchmark.extra_info["check / run"] = seconds(lambda: check_schedule(timed, schedule)) / took
