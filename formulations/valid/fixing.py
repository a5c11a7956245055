"""Reduced-cost fixing: starts that no schedule better than a known one can have."""

from __future__ import annotations

import numpy as np

from formulations.bounds.clique_lp import Solve, lp_prices
from formulations.lagrangian.starts import StartCosts, certified_costs
from formulations.valid.groups import window_groups
from formulations.valid.windows import Windows
from instances import Instance

#: Up to this many starts the LP takes seconds.
STARTS_UP_TO = 20_000
#: Rounds up to which its rows do.
ROUNDS_UP_TO = 200_000
#: Seconds after which the LP is given up.
LP_SECONDS = 20.0


def priced_windows(
    instance: Instance, windows: Windows, upper_bound: int | None, solve: Solve
) -> Windows:
    """Return windows narrowed by the prices of ``lp-cliques``, for any exact model.

    They keep every schedule with TEL ≤ ``upper_bound`` that keeps to ``windows``: fixing is done
    for ``upper_bound`` + 1, so that the known schedule stays and no model becomes infeasible.
    ``solve`` is the engine of the process that asks (``formulations.bounds.clique_lp``).
    Without an upper bound, or for more than ``STARTS_UP_TO`` starts, windows stay as they are.
    """
    costs = None if upper_bound is None else priced_starts(instance, windows, solve)
    if upper_bound is None or costs is None:
        return windows
    return fixed_windows(instance, windows, costs, upper_bound + 1)


def priced_starts(instance: Instance, windows: Windows, solve: Solve) -> StartCosts | None:
    """Return what starts cost at the prices of ``lp-cliques``; None if there are none in time.

    Their bound holds for every schedule that keeps to ``windows``.  None too for more than
    ``STARTS_UP_TO`` starts or ``ROUNDS_UP_TO`` rounds.
    """
    if windows.starts > STARTS_UP_TO or windows.horizon > ROUNDS_UP_TO:
        return None
    groups = window_groups(instance)
    found = lp_prices(instance, windows, groups, LP_SECONDS, solve)
    if found is None:
        return None
    return certified_costs(instance, groups, found, windows.latest)


def fixed_windows(
    instance: Instance, windows: Windows, costs: StartCosts, upper_bound: int
) -> Windows:
    """Return windows that keep every schedule with TEL ≤ ``upper_bound`` − 1 (rounds).

    If they are narrowed to nothing for a request, there is no such schedule and the original
    windows are returned, so a caller always has a model with the known schedule's optimum.

    Proof.  Let c_i be the priced costs and K the constant of ``start_costs``.  A schedule in which
    request i starts at t has, by the derivation there, TEL ≥ Σ_{j≠i} min c_j + c_i(t) − K.  If
    that exceeds U − 1, no schedule with TEL ≤ U − 1 starts i at t.  Everything is an integer
    times 1/denominator, so the comparison is exact.  Windows are intervals, so only starts before
    the first and after the last surviving one are dropped.  Starts past the end of ``costs`` are
    kept if the last listed cost survives; past the priced times costs only grow, so if the last
    one does not survive none after it does.

    Unlike ``start_windows`` this removes schedules with TEL = U: a proof that nothing is left
    says that U is optimal, and the schedule that gave U must be kept by the caller.
    """
    first, last = list(windows.earliest), list(windows.latest)
    least = costs.least
    others = sum(least) - costs.constant
    for i, cost in enumerate(costs.costs):
        allowed = (upper_bound - 1) * costs.denominator - (others - least[i])
        kept = np.flatnonzero(cost <= allowed)
        if len(kept) == 0:
            return windows
        arrival = int(instance.requests[i].arrival)
        first[i] = max(first[i], arrival + int(kept[0]))
        if kept[-1] < len(cost) - 1:
            last[i] = min(last[i], arrival + int(kept[-1]))
        if first[i] > last[i]:
            return windows
    horizon = max(p + r.output for p, r in zip(last, instance.requests, strict=True))
    return Windows(tuple(first), tuple(last), horizon)
