"""Time to a proof on am1 draws, n = 8: every strong method against ``ilp`` as printed in HiGHS."""

from __future__ import annotations

import math
import time
from functools import cache
from statistics import geometric_mean, median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from instances import Instance
from instances.families.am1 import generate
from kvopt.methods.grammar import read_method
from kvopt.runs.supervise import supervise
from kvopt.runs.task import Task

STRONG = {"layers": "search", "cpsat-strong": "cpsat", "cpsat": "cpsat", "ilp(groups=yes)": "highs"}
LIMIT = 120.0


def _prove(instance: Instance, name: str, solver: str) -> tuple[float, float, bool]:
    """Return seconds in the engine's process after its imports, wall seconds, and whether proved.

    A method that does not finish counts with the limit.
    """
    task = Task(instance, instance.name, read_method(f"{solver}:{name}"), time_limit=LIMIT)
    started = time.perf_counter()
    run = supervise(task, LIMIT)
    wall = time.perf_counter() - started
    proved = run.state.closed
    return (run.seconds if proved else LIMIT), wall, proved


@cache
def _printed(n: int, seeds: range) -> list[tuple[float, float, bool]]:
    return [_prove(generate(seed=seed, n=n), "ilp", "highs") for seed in seeds]


@pytest.mark.slow("repeats")
@pytest.mark.parametrize("name", sorted(STRONG))
def test_against_the_printed_program(benchmark: BenchmarkFixture, name: str) -> None:
    """Ratios of seconds to a proof, geometric mean over seeds; solving alone and wall clock."""
    n, seeds = (8, range(10)) if benchmark.enabled else (3, range(1))
    instances = [generate(seed=seed, n=n) for seed in seeds]
    printed = _printed(n, seeds)
    # The first process compiles the search, which is cached from then on.
    _prove(instances[0], name, STRONG[name])
    strong = [_prove(instance, name, STRONG[name]) for instance in instances]
    benchmark.pedantic(_prove, (instances[0], name, STRONG[name]), rounds=1)
    assert all(proved for _, _, proved in strong)
    for label, position in (("solve", 0), ("wall", 1)):
        ratios = [old[position] / new[position] for old, new in zip(printed, strong, strict=True)]
        benchmark.extra_info[f"{label} seconds ilp / {name}, geometric mean"] = geometric_mean(
            ratios
        )
        benchmark.extra_info[f"{label} seconds of {name}, median"] = median(
            each[position] for each in strong
        )
    proofs = sum(proved for _, _, proved in printed)
    benchmark.extra_info[f"proved by ilp within {math.floor(LIMIT)} s"] = proofs
