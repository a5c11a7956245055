"""The forward search, begun as tests begin it: with the schedule of first come, first served."""

from typing import Any

from formulations.dp.forward import ForwardPass, search
from formulations.lagrangian.priced_starts import StartCosts, certified_costs
from formulations.valid.windows import start_windows
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance


def pass_of(
    instance: Instance, width: int, costs: StartCosts | None = None, **means: Any
) -> ForwardPass:
    """Return a pass of the search; without costs no price is paid."""
    known = run_policy(policies()["fcfs"], instance)
    windows = start_windows(instance, known.tel)
    costs = costs or certified_costs(instance, [], None, windows.latest)
    found = search(instance, windows, costs, (known.tel, list(known.starts)), width, **means)
    assert found is not None
    return found
