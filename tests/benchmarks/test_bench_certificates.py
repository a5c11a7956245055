"""Time to verify a sweep's certificate, against the time of the sweep."""

import math
import time
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from formulations.bounds.patterns import PatternPricing
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate, sweep_certificate
from formulations.dp.backward import TelWindowResult, search
from formulations.dp.backward_sweep import SearchLimits
from formulations.dp.priced_network import network
from formulations.lagrangian.state_prices import StatePrices
from formulations.valid.running_states import searchable_states
from instances import Instance
from instances.families.am1 import generate
from tests.benchmarks.timing import seconds

#: Seconds that the prices take, and sums of one search for the best pattern.
SECONDS, WORK = 5.0, 40_000_000


def _prices(instance: Instance, seconds: float) -> StatePrices:
    states = searchable_states(instance, WORK)
    assert states is not None
    until = time.monotonic() + seconds
    pricing = PatternPricing(instance, states, deadline=math.inf)
    return pricing.improve(until).table


@pytest.mark.parametrize("bases", [10_000, 100_000, 1_000_000])
def test_verifying_against_sweeping(benchmark: BenchmarkFixture, bases: int) -> None:
    """CPU seconds of both for the first window of so many bases, and a base."""
    n, bases, limit = (24, bases, SECONDS) if benchmark.enabled else (6, 10, 0.1)
    instance = generate(seed=2, n=n)
    prices = _prices(instance, limit)
    under = network(instance, prices)

    def swept(bound: int, below: int, on_step: Callable[[TelWindowResult], None]) -> None:
        free = SearchLimits(1, 2e9, lambda: False)
        search(under, bound=bound, below=below, limits=free, on_step=on_step)

    target, steps = under.bound, list[TelWindowResult]()
    while not steps or (steps[-1].nodes < bases and steps[-1].starts is None):
        # One window at a time, each wider by a two hundredth.
        target += max(1, target // 200)
        swept(target - 1, target, steps.append)
    last = steps[-1]
    own = () if last.multipliers is None else last.multipliers.tolist()
    certificate = read_certificate(sweep_certificate(last.bound, prices, own))
    sweeping = seconds(
        lambda: swept(last.target, last.target + 1, lambda _: None), clock=time.process_time
    )
    proved: list[int] = []
    verifying = seconds(
        lambda: proved.append(evaluate_certificate(instance, certificate)), clock=time.process_time
    )
    assert proved == [last.bound]
    benchmark.pedantic(evaluate_certificate, (instance, certificate), rounds=1)
    benchmark.extra_info["bases"] = last.nodes
    benchmark.extra_info["verify / sweep, CPU"] = verifying / max(sweeping, 1e-9)
    benchmark.extra_info["verify, µs a base"] = 1e6 * verifying / max(last.nodes, 1)
