"""Time to a proof on am1 draws, n = 8: every strong method against ``ilp`` as printed in HiGHS.

Run with ``pytest tests/benchmarks/test_bench_exact.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

import math
import time
from functools import cache
from statistics import geometric_mean, median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from formulations.registry import formulations
from heuristics.simulator import run_policy
from instances import Instance
from instances.families.am1 import generate
from kvopt.engines.exact import warm_start_policies
from kvopt.running.job import Event, Job
from kvopt.running.process import run_job

STRONG = {"layers": "search", "cpsat-strong": "cpsat", "cpsat": "cpsat", "ilp-strong": "highs"}
LIMIT = 120.0


def _prove(instance: Instance, name: str, solver: str) -> tuple[float, float, bool]:
    """Return seconds in the engine's process after its imports, wall seconds, and whether proved.

    A method that does not finish counts with the limit.
    """
    known = min(
        (run_policy(policy, instance) for policy in warm_start_policies()), key=lambda s: s.tel
    )
    events: list[Event] = []
    job = Job(
        instance=instance,
        solver=solver,
        module=formulations()[name].module,
        relaxation=False,
        seconds=LIMIT,
        threads=1,
        seed=0,
        warm_start=list(known.starts),
        upper_bound=known.tel,
    )
    started = time.perf_counter()
    run_job(job, events.append)
    wall = time.perf_counter() - started
    ready = next(event.seconds for event in events if event.kind == "ready")
    bounds = [event.data["value"] for event in events if event.kind == "bound"]
    offsets = sum(request.output - int(request.arrival) for request in instance.requests)
    tels = [sum(event.data["starts"]) + offsets for event in events if event.kind == "schedule"]
    proved = max(bounds, default=0) >= min([known.tel, *tels])
    return (events[-1].seconds - ready if proved else LIMIT), wall, proved


@cache
def _printed(n: int, seeds: range) -> list[tuple[float, float, bool]]:
    return [_prove(generate(seed=seed, n=n), "ilp", "highs") for seed in seeds]


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
