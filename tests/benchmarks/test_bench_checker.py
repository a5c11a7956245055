"""The checker and the policies' schedules against oracles that share nothing, on many draws.

In the test run some hundred draws each.  ``pytest tests/benchmarks/test_bench_checker.py
--benchmark-enable --benchmark-only`` takes 100,000 schedules for the checker, 20,000 for the
optimum and 2,000 instances for all policies, some minutes in all, and prints what was compared.
"""

from __future__ import annotations

import random
from collections import Counter

from pytest_benchmark.fixture import BenchmarkFixture

from heuristics.registry import policies
from kvopt.running.state import RunState
from tests.heuristics.contract import run
from tests.oracles.brute_force import brute_force_optimum
from tests.schedules.attack import an_instance, below_optimum, disagreement
from tests.schedules.drawn import draw_rows


def _kinds(number: int) -> Counter[str]:
    """Judge schedules both ways and count the verdicts; ``differs`` for two that do."""
    found: Counter[str] = Counter()
    for seed in range(number):
        kind, difference = disagreement(seed)
        found["differs" if difference else kind] += 1
    return found


def test_both_checkers_agree(benchmark: BenchmarkFixture) -> None:
    """Kind and first violating time, whatever was damaged."""
    number = 100_000 if benchmark.enabled else 500
    found = benchmark.pedantic(_kinds, (number,), rounds=1)
    assert not found["differs"]
    benchmark.extra_info.update(found)


def _below(number: int, keep: bool) -> int:
    return sum(below_optimum(seed, keep) for seed in range(number))


def test_only_kept_tokens_beat_the_optimum(benchmark: BenchmarkFixture) -> None:
    """No schedule without them is below brute force; with them some are, or the draws are tame."""
    number = 20_000 if benchmark.enabled else 500
    assert benchmark.pedantic(_below, (number, False), rounds=1) == 0
    below = _below(number, True)
    assert below > 0
    benchmark.extra_info["below the optimum with kept tokens"] = f"{below} of {number}"


def _claims(number: int) -> Counter[str]:
    """Give every policy's schedule the optimum as a bound; count what the run then says."""
    found: Counter[str] = Counter()
    for seed in range(number):
        instance = an_instance(*draw_rows(random.Random(seed), 5))
        optimum = brute_force_optimum(instance)
        for name in policies():
            # Its seconds are for large instances.
            if name == "local-search" or (schedule := run(name, instance, seed)) is None:
                continue
            state = RunState(instance, name)
            assert state.offer(schedule, name), (seed, name, state.refused)
            state.raise_bound(optimum, "brute force")
            status = state.standing()
            right = schedule.tel == optimum and not schedule.keeps_tokens
            assert status == ("optimal" if right else "feasible"), (seed, name, status)
            found[status] += 1
            found["kept tokens"] += schedule.keeps_tokens
            found["kept tokens, below the optimum"] += schedule.tel < optimum
    return found


def test_policies_are_optimal_where_they_are(benchmark: BenchmarkFixture) -> None:
    """Where a schedule that kept nothing has the optimum as its TEL, and nowhere else."""
    found = benchmark.pedantic(_claims, (2000 if benchmark.enabled else 25,), rounds=1)
    assert found["kept tokens"] > 0
    benchmark.extra_info.update(found)
