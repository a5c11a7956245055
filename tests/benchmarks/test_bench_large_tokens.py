"""Formulations with up to 10^9 tokens against brute force: no bound above the optimum, ever.

In the test run 4 draws for the least and the largest M.  ``pytest
tests/benchmarks/test_bench_large_tokens.py --benchmark-enable --benchmark-only`` takes 240 for each
M, and prints how many were proved.  A schedule that overflows memory and is sent fails the run.
"""

from __future__ import annotations

import random
from functools import cache

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from instances import Instance, Request
from tests.engine_batch import Answer, solve_batch
from tests.oracles.brute_force import brute_force_optimum

MANY, FEW = 240, 4
MEMORIES = (10**3, 10**4, 10**5, 10**6, 4 * 10**6, 10**7, 10**8, 10**9)
FORMULATIONS = ("ilp", "ilp-cliques", "ilp-sparse", "ilp-strong", "ilp-xy", "cpsat")
#: Up to here tolerances cover every draw: at most 2·M + n + Σ (peak + 1) ≤ 9·M tokens a row.
PROVED_UP_TO = 10**3


def _draw(seed: int, memory: int) -> Instance:
    """Return three to six requests with prompts near M, M/2, M/3 or M/4, some with arrivals."""
    draws = random.Random(f"{seed} {memory}")
    requests = []
    for i in range(draws.randint(3, 6)):
        output = draws.choice([1, 1, 1, 2, 2, 3, 4, 5])
        near = memory // draws.choice([1, 1, 2, 2, 2, 3, 3, 3, 4]) + draws.randint(-6, 2)
        prompt = min(near if draws.random() < 0.85 else draws.randint(0, memory), memory - output)
        requests.append(Request(i, draws.choice([0, 0, 0, 1, 2, 3]), prompt, output))
    return Instance(f"large_{memory}_{seed}", memory, tuple(requests))


@cache
def _drawn(number: int, memory: int) -> list[tuple[Instance, int]]:
    """Return the draws with their brute-force optima."""
    drawn = [_draw(seed, memory) for seed in range(number)]
    return [(instance, brute_force_optimum(instance)) for instance in drawn]


def _solve(number: int, memory: int) -> dict[str, list[Answer]]:
    """Solve all draws with all formulations; engines' schedules are checked on the way."""
    pairs = [(instance, name) for name in FORMULATIONS for instance, _ in _drawn(number, memory)]
    answers = solve_batch(pairs, poor_start=True)
    return {name: answers[k * number :][:number] for k, name in enumerate(FORMULATIONS)}


@pytest.mark.parametrize("memory", MEMORIES)
def test_no_bound_above_the_optimum(benchmark: BenchmarkFixture, memory: int) -> None:
    """Bounds stay at or below brute force; CP-SAT always, MIPs where M is small, prove it."""
    if not benchmark.enabled and memory not in (MEMORIES[0], MEMORIES[-1]):
        pytest.skip("for the benchmark")
    number = MANY if benchmark.enabled else FEW
    found = benchmark.pedantic(_solve, (number, memory), rounds=1)
    drawn = _drawn(number, memory)
    for name, answers in found.items():
        wrong = [
            (name, instance.name, optimum, answer)
            for (instance, optimum), answer in zip(drawn, answers, strict=True)
            if not answer.bound <= optimum <= answer.tel
        ]
        assert wrong == []
        proved = sum(answer.bound == answer.tel for answer in answers)
        if name == "cpsat" or memory <= PROVED_UP_TO:
            assert proved == number, name
        benchmark.extra_info[f"{name}: proved"] = f"{proved} of {number}"
