"""Theorems 2.1 and 8.2 of wang2025: how the trapped policies' ratios grow with M."""

import math
from functools import partial
from typing import Any

import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances.families import mcsf_trap, total_trap

#: Per trap: the trapped policy, the instance for M, and the exponent of the ratio in M.  The total
#: trap as printed tends to 3 (``instances.families.total_trap``), so its exponent is 0.
TRAPS = {
    "mcsf": ("mc-sf", partial(mcsf_trap.generate), 0.25),
    "total, as printed": ("mc-sf-total", partial(total_trap.generate), 0.0),
    "total, M^1.25": ("mc-sf-total", partial(total_trap.generate, growth=1.25), 0.25),
}
#: Requests up to which the two Sorted-F policies are waited for; svf goes to the largest M.
SORTED_F_UP_TO = 300_000
ESCAPING = ("svf", "sorted-f-quantile", "sorted-f-swap")


@pytest.mark.parametrize("trap", sorted(TRAPS))
def test_ratio_grows_with_memory(trap: str, benchmark: Any) -> None:
    """The ratio of the trapped policy to svf grows with M; exponents are fitted for all three."""
    # ``sorted-f-swap`` does not escape ``total-trap``: its first batch is greedy by s + o, and
    # swaps never change the number of requests in a batch.
    trapped, generate, limit = TRAPS[trap]
    sizes = (256, 4096, 10_000) if benchmark.enabled else (16, 256)
    instances = {memory: generate(memory=memory) for memory in sizes}
    trapped_tel = {k: run_policy(policies()[trapped], each).tel for k, each in instances.items()}
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
    benchmark.extra_info["exponent for M to infinity"] = limit
    benchmark.pedantic(run_policy, (policies()[trapped], instances[sizes[-1]]), rounds=1)
