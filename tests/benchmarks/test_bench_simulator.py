"""The simulator on chat lengths, all at round 0, M = 16,492: time against n, and against literal.

Run with ``pytest tests/benchmarks/test_bench_simulator.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

import itertools
import math
import resource
import time
from typing import Any

import pytest

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance
from instances.families.chat_lognormal import generate
from tests.heuristics.twins import twin

POLICIES = ("mc-sf", "svf", "fcfs")


def _seconds(policy: str, instance: Instance, repeats: int) -> float:
    """Return the median wall time of a run, after one that warms up."""
    run_policy(policies()[policy], instance)
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run_policy(policies()[policy], instance)
        times.append(time.perf_counter() - started)
    return sorted(times)[repeats // 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_growth_with_n(policy: str, benchmark: Any) -> None:
    """Time at n = 10^4 is the benchmark; the exponents to 10^5 and 10^6 and the memory are told."""
    sizes = (10_000, 100_000, 1_000_000) if benchmark.enabled else (200, 400, 800)
    instances = {n: generate(n=n) for n in sizes}
    benchmark.pedantic(
        run_policy, (policies()[policy], instances[sizes[0]]), rounds=5, warmup_rounds=1
    )
    seconds = {n: _seconds(policy, instances[n], 3) for n in sizes}
    for smaller, larger in itertools.pairwise(sizes):
        exponent = math.log(seconds[larger] / seconds[smaller]) / math.log(larger / smaller)
        benchmark.extra_info[f"exponent {smaller}..{larger}"] = exponent
    for n, value in seconds.items():
        benchmark.extra_info[f"seconds at {n}"] = value
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    benchmark.extra_info["peak memory of this process, GB"] = peak / 1e6


@pytest.mark.parametrize("policy", POLICIES)
def test_against_the_literal_transcription(policy: str, benchmark: Any) -> None:
    """At the same n and in the same run, how many times faster than round by round."""
    instance = generate(n=10_000 if benchmark.enabled else 60)
    started = time.perf_counter()
    literal = twin(policy, instance)
    literal_seconds = time.perf_counter() - started
    schedule = benchmark.pedantic(
        run_policy, (policies()[policy], instance), rounds=5, warmup_rounds=1
    )
    assert schedule == literal
    ratio = literal_seconds / _seconds(policy, instance, 5)
    benchmark.extra_info["literal / simulator"] = ratio
