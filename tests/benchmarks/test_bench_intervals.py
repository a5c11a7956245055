"""The policies of chen2025 on chat lengths with [1, 1000] for all: time, and TEL against H-SF.

Run with ``pytest tests/benchmarks/test_bench_intervals.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from heuristics.predictions import PREDICTIONS, predict
from heuristics.reference.a_min import a_min
from heuristics.simulator import Setting, policy_generator, run_policy
from instances import Instance
from instances.families.chat_lognormal import generate
from instances.families.draws import Draws
from kvopt.methods.grammar import read_method
from schedules import Schedule, check_schedule
from tests.oracles.draws import instance_of

CALLS = ("a-min", "a-min(ties=fresh)", "a-ell", "a-switch", "a-max")


def _run(call: str, instance: Instance, model: str = "interval") -> Schedule:
    read = read_method(call).call
    assert read is not None
    # Chat draws outputs above 1,000 tokens.
    told = {"low": 1, "high": 4096} if model == "interval" else {}
    return run_policy(read.policy, instance, Setting(read.values, PREDICTIONS[model], told))


@pytest.mark.parametrize("model", ["interval", "bins", "relative"])
@pytest.mark.parametrize("call", CALLS)
def test_chat(call: str, model: str, benchmark: Any) -> None:
    """Time of a run at n = 10^4, its TEL over that of H-SF, and its cancelled attempts."""
    instance = generate(n=10_000 if benchmark.enabled else 100)
    schedule = benchmark.pedantic(_run, (call, instance, model), rounds=3)
    assert check_schedule(instance, schedule).valid
    benchmark.extra_info["TEL / TEL of h-sf"] = schedule.tel / _run("h-sf", instance).tel
    benchmark.extra_info["cancelled attempts"] = sum(map(len, schedule.attempts or ()))


def test_against_the_literal_transcription(benchmark: Any) -> None:
    """Time of A_min, and how much longer its literal transcription takes."""
    n = 400 if benchmark.enabled else 20
    draws = Draws(1)
    instance = instance_of(
        200, *((0, draws.integer(1, 10), draws.integer(1, 40), 1, 40) for _ in range(n))
    )
    schedule = benchmark.pedantic(_run, ("a-min(ties=permutation)", instance), rounds=3)
    numbers = policy_generator(0).random(n).tolist()
    lower, _ = predict(instance, PREDICTIONS["interval"], {}, 0)
    began = time.perf_counter()
    expected = a_min(instance, lower.tolist(), lambda equals: min(equals, key=numbers.__getitem__))
    seconds = time.perf_counter() - began
    assert schedule.starts == expected.starts
    if benchmark.enabled:
        benchmark.extra_info["literal / fast"] = seconds / benchmark.stats.stats.median
