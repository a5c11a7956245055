"""The simulator on chat lengths, at round 0, M = 16,492: time against n, and against literal."""

import itertools
import math
import resource
from functools import partial
from typing import Any

import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances.families.chat_lognormal import generate
from tests.benchmarks.timing import seconds

POLICIES = ("mc-sf", "svf", "fcfs")


@pytest.mark.parametrize("policy", POLICIES)
def test_growth_with_n(policy: str, benchmark: Any) -> None:
    """Time at n = 10^4 is the benchmark; exponents to 10^5 and 10^6 and the memory are noted."""
    sizes = (10_000, 100_000, 1_000_000) if benchmark.enabled else (200, 400, 800)
    instances = {n: generate(n=n) for n in sizes}
    benchmark.pedantic(
        run_policy, (policies()[policy], instances[sizes[0]]), rounds=5, warmup_rounds=1
    )
    own = policies()[policy]
    took = {n: seconds(partial(run_policy, own, each), 3) for n, each in instances.items()}
    for smaller, larger in itertools.pairwise(sizes):
        exponent = math.log(took[larger] / took[smaller]) / math.log(larger / smaller)
        benchmark.extra_info[f"exponent {smaller}..{larger}"] = exponent
    for n, value in took.items():
        benchmark.extra_info[f"seconds at {n}"] = value
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    benchmark.extra_info["peak memory of this process, GB"] = peak / 1e6
