"""Every formulation, whole and with each option switched alone, against brute force on draws.

In the test run 12 draws: each kind with and without arrivals, one of these from a bad warm start.
``pytest tests/benchmarks/test_bench_agreement.py --benchmark-enable --benchmark-only`` takes 500,
for about a quarter of an hour, and prints what was compared.
"""

import math
from collections.abc import Iterator
from functools import cache
from statistics import geometric_mean

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from formulations.formulation_registry import RELAXED, Formulation, formulations
from instances import Instance
from kvopt.methods.option_values import format_formulation
from tests.engine_batch import Answer, solve_batch
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import KINDS, crowd

MANY, FEW = 500, 2 * len(KINDS)
#: Seconds for one run: a model that cannot prove five requests within them counts as wrong.
LIMIT = 600.0


def _variants(formulation: Formulation) -> Iterator[str]:
    """Yield the formulation and, for each of its switches, the formulation with it turned."""
    yield formulation.name
    for option in formulation.options:
        if isinstance(option.default, bool) and option != RELAXED:
            yield format_formulation(formulation, {option.name: not option.default})


IN_ROUNDS = [each for each in formulations().values() if each.in_rounds]
EXACT = [v for each in IN_ROUNDS if not each.relaxation for v in _variants(each)]
LOWER = [v for each in IN_ROUNDS if each.relaxation for v in _variants(each)]


@cache
def _drawn(number: int) -> list[tuple[Instance, int]]:
    """Return the draws with their brute-force optima."""
    drawn = [crowd(seed) for seed in range(number)]
    return [(instance, brute_force_optimum(instance)) for instance in drawn]


def _solve(number: int, name: str) -> list[Answer]:
    """Solve every second draw of each kind from a good schedule, the rest from a bad one."""
    drawn = [instance for instance, _ in _drawn(number)]
    found: dict[int, Answer] = {}
    for poor in (False, True):
        positions = [p for p in range(number) if (p + p // len(KINDS)) % 2 == poor]
        pairs = [(drawn[p], name) for p in positions]
        found |= zip(positions, solve_batch(pairs, LIMIT, poor_start=poor), strict=True)
    return [found[p] for p in range(number)]


@pytest.mark.slow("repeats")
@pytest.mark.parametrize("formulation", EXACT)
def test_exact_formulations_equal_brute_force(
    benchmark: BenchmarkFixture, formulation: str
) -> None:
    """Best schedule and bound are both the brute force's optimum, on every draw."""
    number = MANY if benchmark.enabled else FEW
    answers = benchmark.pedantic(_solve, (number, formulation), rounds=1)
    wrong = [
        (instance.name, optimum, answer.tel, answer.bound)
        for (instance, optimum), answer in zip(_drawn(number), answers, strict=True)
        if not answer.tel == answer.bound == optimum
    ]
    assert wrong == []
    benchmark.extra_info["draws that equal brute force"] = f"{len(answers)} of {number}"


@pytest.mark.slow("repeats")
@pytest.mark.parametrize("formulation", LOWER)
def test_bounds_never_exceed_brute_force(benchmark: BenchmarkFixture, formulation: str) -> None:
    """Certified bounds and LP objectives stay at or below the optimum, on every draw."""
    number = MANY if benchmark.enabled else FEW
    answers = benchmark.pedantic(_solve, (number, formulation), rounds=1)
    pairs = list(zip(_drawn(number), answers, strict=True))
    wrong = [
        (instance.name, optimum, answer)
        for (instance, optimum), answer in pairs
        if not 0 < answer.bound <= optimum
        or (answer.relaxation is not None and answer.relaxation > optimum * (1 + 1e-7))
    ]
    assert wrong == []
    # The prices of a solved relaxation certify its value; rounding may cost the last unit.
    assert all(
        answer.bound >= math.ceil(answer.relaxation * (1 - 1e-6) - 1e-4)
        for _, answer in pairs
        if answer.relaxation is not None
    )
    ratio = geometric_mean(answer.bound / optimum for (_, optimum), answer in pairs)
    benchmark.extra_info["bound / optimum, geometric mean"] = ratio
    tight = sum(answer.bound == optimum for (_, optimum), answer in pairs)
    benchmark.extra_info["bounds that are the optimum"] = f"{tight} of {number}"
