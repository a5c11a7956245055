"""Reduced-cost fixing: starts that no schedule better than a known one can have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from formulations.valid.windows import Windows
from instances import Instance


def fixed_windows(
    instance: Instance, windows: Windows, costs: Sequence[NDArray[np.int64]], slack: int
) -> Windows:
    """Return windows that keep every schedule with TEL ≤ U − 1 (rounds).

    If they are narrowed to nothing for a request, there is no such schedule and the original
    windows are returned, so a caller always has a model with the known schedule's optimum.

    Proof.  Let c_i be the priced costs and K the constant of ``start_costs``.  A schedule in which
    request i starts at t has, by the derivation there, TEL ≥ Σ_{j≠i} min c_j + c_i(t) − K.  If
    that exceeds U − 1, that is if c_i(t) − min c_i exceeds the slack U − 1 − (Σ_j min c_j − K), no
    schedule with TEL ≤ U − 1 starts i at t.  Everything is an integer times 1/denominator, so the
    comparison is exact.  Windows are intervals, so only starts before the first and after the last
    surviving one are dropped.  Starts past the end of ``costs`` are kept if the last listed cost
    survives; past the priced times costs only grow, so if the last one does not survive none after
    it does.

    Unlike ``start_windows`` this removes schedules with TEL = U: a proof that nothing is left
    says that U is optimal, and the schedule that gave U must be kept by the caller.

    Parameters
    ----------
    costs
        What each start from the arrival on costs request i under some prices, at least.
    slack
        What a schedule with TEL ≤ U − 1 may pay beyond the least cost of every request
        (``formulations.lagrangian.starts.StartCosts.slack``).
    """
    first, last = list(windows.earliest), list(windows.latest)
    for i, cost in enumerate(costs):
        # The slack is Python's integer: it may be larger than 64 bits hold.
        kept = np.flatnonzero(cost <= int(cost.min()) + slack)
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
