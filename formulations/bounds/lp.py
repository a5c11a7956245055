"""LP relaxation of the integer program by column generation, one memory row a round."""

from __future__ import annotations

import numpy as np

from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.fluid import likely_horizon, model_size
from formulations.bounds.highs import Floats
from formulations.bounds.outcome import Bound, Reporter, SilentReporter
from formulations.valid.states import Ints
from formulations.valid.windows import Windows
from instances import Instance

FIRST_KNOTS = 60
#: Knots of the grid whose optimum policies are advised by.
COARSE_KNOTS = 200
#: Relative gap at which a coarse grid is left for a finer one.
COARSE_TOLERANCE = 1e-3
#: Relative gap at which the LP counts as solved.
TOLERANCE = 2e-7
#: Cheapest starts of a request that become columns in each iteration on the full grid.
NEAR = 16


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    windows: Windows | None = None,
    known_starts: Ints | None = None,
    threads: int = 1,
) -> Bound:
    """Return the bound of ``ilp(relaxed=yes)`` without its columns; parameters as in ``dual``.

    The prices come from coarse grids first.  Then every round has a memory row, up to a horizon
    T that is guessed; rows past T are left out, which relaxes the LP.  If the solution completes
    all requests by T it satisfies them too, so both LPs have one value; else T is raised.  With
    the windows of ``ilp`` the objective is the same.
    """
    from formulations.bounds.price_search import PriceSearch  # loads SciPy

    most = windows.horizon if windows else int(instance.arrivals.max() + instance.outputs.sum())
    horizon = min(likely_horizon(instance), most)
    solved = False
    while True:
        search = PriceSearch(
            instance,
            report,
            deadline=deadline,
            threads=threads,
            windows=windows,
            known_starts=known_starts,
            horizon=horizon,
        )
        search.begin(FIRST_KNOTS)
        search.iterate(COARSE_TOLERANCE)
        search.refine(np.arange(1, horizon + 1))
        solved = search.iterate(TOLERANCE, near=NEAR)
        if not solved or horizon == most:
            break
        assert search.solution is not None
        if search.master.last_completion(search.solution.weights) <= horizon:
            break
        horizon = min(2 * horizon, most)
    return search.result(solved=solved)


def coarse_starts(
    instance: Instance, windows: Windows, known_starts: Ints, deadline: float, threads: int
) -> Floats | None:
    """Return Σ t·x of each request, shape (n,), rounds, in the LP on a coarse grid of times.

    Its memory rows are those of the LP, added up between knots.  None where it is not solved by the
    deadline, so that the clock decides nothing else.
    """
    from formulations.bounds.price_search import PriceSearch  # loads SciPy

    search = PriceSearch(
        instance,
        SilentReporter(),
        deadline=deadline,
        threads=threads,
        windows=windows,
        known_starts=known_starts,
    )
    search.begin(COARSE_KNOTS)
    return search.result().expected_starts if search.iterate(COARSE_TOLERANCE) else None


FORMULATION = ComputedBound(name="bound-lp", compute=compute_bound, size=model_size)
