"""The loss of the bound in seconds."""

import random
import time
from typing import Any

import pytest

from instances.batch_time import parse_batch_time
from serving.bounds.seconds import bound_in_seconds
from tests.oracles.draws import instance_of
from tests.oracles.real_time_whole import STAGGERED, least_latency_whole, staggered


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
