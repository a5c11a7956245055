"""Sorted-F on chat lengths, all at round 0, M = 16,492, at the size that each form is meant for.

Run with ``pytest tests/benchmarks/test_bench_sorted_f.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances.families.chat_lognormal import generate


@pytest.mark.parametrize(
    ("name", "full"),
    [("sorted-f-dp", 100), ("sorted-f-swap", 2_000), ("sorted-f-quantile", 100_000)],
)
def test_whole_schedule(benchmark: BenchmarkFixture, name: str, full: int) -> None:
    """Phase 1 and the common admission together; the ratio is to the TEL of the volume order."""
    n = full if benchmark.enabled else 50
    instance = generate(n=n)
    schedule = benchmark.pedantic(run_policy, (policies()[name], instance), rounds=5)
    assert len(schedule.starts) == n
    benchmark.extra_info["requests"] = n
    benchmark.extra_info["TEL / TEL of svf"] = (
        schedule.tel / run_policy(policies()["svf"], instance).tel
    )
