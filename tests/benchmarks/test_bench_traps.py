"""Theorems 2.1 and 8.2 of wang2025: how the trapped policies' ratios grow with M.

Run with ``pytest tests/benchmarks/test_bench_traps.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances.families import mcsf_trap, total_trap

#: The trapped policy, the family, and the exponent of M that its theorem proves at least.
TRAPS = {"mc-sf": (mcsf_trap, 0.25), "mc-sf-total": (total_trap, 0.5)}
#: Requests up to which the two Sorted-F policies are waited for; svf goes to the largest M.
SORTED_F_UP_TO = 300_000
ESCAPING = ("svf", "sorted-f-quantile", "sorted-f-swap")


@pytest.mark.parametrize("trapped", sorted(TRAPS))
def test_ratio_grows_with_memory(trapped: str, benchmark: Any) -> None:
    """The ratio of the trapped policy to svf grows with M; exponents are fitted for all three.

    ``sorted-f-swap`` does not escape ``total-trap``: its first batch is greedy by s + o, and swaps
    never change the number of requests in a batch.
    """
    family, proved = TRAPS[trapped]
    sizes = (256, 4096, 10_000) if benchmark.enabled else (16, 256)
    instances = {memory: family.generate(memory=memory) for memory in sizes}
    trapped_tel = {
        memory: run_policy(policies()[trapped], instance).tel
        for memory, instance in instances.items()
    }
    for name in ESCAPING:
        ratios = {
            memory: trapped_tel[memory] / run_policy(policies()[name], instance).tel
            for memory, instance in instances.items()
            if name == "svf" or len(instance) <= SORTED_F_UP_TO
        }
        for memory, ratio in ratios.items():
            benchmark.extra_info[f"TEL {trapped} / {name}, M = {memory}"] = ratio
        first, last = min(ratios), max(ratios)
        exponent = math.log(ratios[last] / ratios[first]) / math.log(last / first)
        benchmark.extra_info[f"fitted exponent against {name}"] = exponent
    ratio_to_svf = [benchmark.extra_info[f"TEL {trapped} / svf, M = {memory}"] for memory in sizes]
    assert ratio_to_svf == sorted(ratio_to_svf)
    benchmark.extra_info["exponent of the theorem's lower bound"] = proved
    benchmark.pedantic(run_policy, (policies()[trapped], instances[sizes[-1]]), rounds=1)
