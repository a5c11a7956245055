"""LP relaxation of the integer program by column generation, one memory row a round.

``bound-dual`` with a knot at every round.  T is raised until the LP on times up to T has a solution
that completes by T: it has no rows past T, so both LPs have one value then.
"""

from typing import Any

import numpy as np

from formulations.bounds.bound_result import BoundResult, SilentReporter
from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.fluid_limit import likely_horizon, model_size
from formulations.bounds.highs_lp import Floats
from instances import Instance

#: Knots of the first grid, and of the grid whose optimum advises policies.
FIRST_KNOTS, COARSE_KNOTS = 60, 200
#: Relative gaps at which a finer grid follows, and at which the LP is solved.
COARSE_TOLERANCE, TOLERANCE = 1e-3, 2e-7
#: Cheapest starts of a request that become columns in each iteration on the full grid.
NEAR = 16


def compute_bound(instance: Instance, **given: Any) -> BoundResult:
    """Return the bound of ``ilp(relaxed=yes)`` without its columns; ``given`` as in PriceSearch."""
    from formulations.bounds.price_search import PriceSearch  # loads SciPy

    windows = given.get("windows")
    most = windows.horizon if windows else int(instance.arrivals.max() + instance.outputs.sum())
    horizon = min(likely_horizon(instance), most)
    while True:
        search = PriceSearch(instance, horizon=horizon, **given)
        search.begin(FIRST_KNOTS)
        search.iterate(COARSE_TOLERANCE)
        search.refine(np.arange(1, horizon + 1))
        solved = search.iterate(TOLERANCE, near=NEAR)
        if not solved or horizon == most:
            return search.result(solved=solved)
        assert search.solution is not None
        if search.master.last_completion(search.solution.weights) <= horizon:
            return search.result(solved=solved)
        horizon = min(2 * horizon, most)


def coarse_starts(instance: Instance, **given: Any) -> Floats | None:
    """Return Σ t·x of each request, shape (n,), rounds, in the LP on a coarse grid of times.

    None where it is not solved by the deadline.
    """
    from formulations.bounds.price_search import PriceSearch  # loads SciPy

    search = PriceSearch(instance, report=SilentReporter(), **given)
    search.begin(COARSE_KNOTS)
    return search.result().expected_starts if search.iterate(COARSE_TOLERANCE) else None


FORMULATION = ComputedBound(name="bound-lp", compute=compute_bound, size=model_size)
