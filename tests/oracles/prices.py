"""Prices of a linear program without an engine: SciPy's solver, which shares no library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from formulations.bounds.clique_lp import CliqueLP


def by_scipy(made: CliqueLP, seconds: float) -> NDArray[np.float64] | None:
    """Return the reduced costs that SciPy finds within so many seconds, as ``by_highs`` does."""
    columns = np.column_stack((np.zeros(len(made.upper)), made.upper))
    found = linprog(
        made.cost,
        A_eq=made.matrix,
        b_eq=made.sides,
        bounds=columns,
        options={"time_limit": seconds},
    )
    return np.asarray(found.lower.marginals + found.upper.marginals) if found.success else None
