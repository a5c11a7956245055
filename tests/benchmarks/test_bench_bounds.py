"""Bounds without a MIP solver: how far above volumes, how far below svf, in what time."""

import random
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance, read_instance
from instances.batch_time import parse_batch_time
from instances.families import chat_lognormal, mix80_20_lognormal
from serving.bounds.seconds import bound_in_seconds
from tests.engine_batch import Answer, solve_batch
from tests.oracles.draws import instance_of
from tests.oracles.real_time_whole import STAGGERED, least_latency_whole, staggered
from tests.tiers import a_few

LIBRARY = Path(__file__).parents[2] / "instances"
LIMIT_SECONDS = 60.0


def _timed(instance: Instance, name: str, seconds: float = 600.0) -> tuple[Answer, float]:
    """Return the answer and the wall time of one engine process, imports included."""
    started = time.perf_counter()
    answer = solve_batch([(instance, name)], seconds=seconds)[0]
    return answer, time.perf_counter() - started


@pytest.mark.parametrize(
    ("family", "n"),
    a_few([(mix80_20_lognormal, 1000), (chat_lognormal, 2000), (mix80_20_lognormal, 10_000)], 1),
)
def test_dual_bound(family: ModuleType, n: int, benchmark: Any) -> None:
    """The dual's bound on realistic sizes under one time limit; gaps and ratios are noted."""
    instance = family.generate(n=n if benchmark.enabled else 30)
    limit = LIMIT_SECONDS if benchmark.enabled else 5.0
    answer, seconds = benchmark.pedantic(
        _timed, (instance, "bound-dual"), {"seconds": limit}, rounds=1
    )
    volume, _ = _timed(instance, "bound-volume")
    tel = run_policy(policies()["svf"], instance).tel
    assert 0 < answer.bound <= tel
    benchmark.extra_info["bound"] = answer.bound
    benchmark.extra_info["bound / volume bound"] = answer.bound / volume.bound
    benchmark.extra_info["gap of svf, %"] = 100 * (tel - answer.bound) / tel
    benchmark.extra_info["seconds"] = seconds


@pytest.mark.parametrize("prompt", [50, 1300])
@pytest.mark.parametrize("load", [0.0, 0.3, 1.0])
def test_loss_in_seconds(prompt: int, load: float, benchmark: Any) -> None:
    """What ``bound-seconds`` loses of the optimum of six requests; the mean loss is noted."""
    draws, n, seconds = (12, 6, 3.0) if benchmark.enabled else (1, 3, 0.1)
    losses = benchmark.pedantic(_losses, (prompt, load, draws, n, seconds), rounds=1)
    assert min(losses) >= 0
    benchmark.extra_info["mean loss, %"] = 100 * sum(losses) / len(losses)
    benchmark.extra_info["largest loss, %"] = 100 * max(losses)


def _losses(prompt: int, load: float, draws: int, n: int, seconds: float) -> list[float]:
    rng, losses = random.Random(11), []
    for _ in range(draws):
        requests, memory = staggered(rng, n, prompt, load)
        instance = instance_of(
            memory, *((a / 1e9, s, o) for a, s, o in requests), time_unit="second"
        )
        arrivals = instance.arrival_times.tolist()
        exact = [(a, s, o) for a, (_, s, o) in zip(arrivals, requests, strict=True)]
        least = least_latency_whole(exact, memory, STAGGERED)
        model = parse_batch_time(f"linear({','.join(str(each / 1e9) for each in STAGGERED)})")
        found = bound_in_seconds(instance, model, time.monotonic() + seconds)
        losses.append(1 - found.value / least)
    return losses


@pytest.mark.parametrize("name", a_few(["am1/am1_00", "uniform_100"], 1))
def test_lp_by_columns_against_the_printed_lp(name: str, benchmark: Any) -> None:
    """The same LP value; the ratio of the times of the model and ``bound-lp`` is noted."""
    chosen = name if benchmark.enabled else "example_3_1"
    instance = read_instance(LIBRARY / f"{chosen}.json")
    found, seconds = benchmark.pedantic(_timed, (instance, "bound-lp"), rounds=1)
    if found.relaxation is None:
        pytest.fail("bound-lp did not converge")
    printed, printed_seconds = _timed(instance, "ilp(relaxed=yes)")
    assert found.relaxation == pytest.approx(printed.relaxation, rel=1e-6)
    benchmark.extra_info["seconds of lp / seconds of bound-lp"] = printed_seconds / seconds
