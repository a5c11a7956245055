"""Linear programs for HiGHS, straight from arrays.

Only an engine's process may solve one: HiGHS is loaded by the functions that need it.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearProgram:
    """The LP min cost·v over lower ≤ matrix·v ≤ upper, 0 ≤ v ≤ limits; None is no limit.

    ``matrix`` is compressed by columns: a CSC matrix, or the CSR matrix of its transpose.
    """

    cost: Floats
    matrix: Any
    lower: Floats
    upper: Floats
    limits: Floats | None = None


def run_highs(lp: LinearProgram, seconds: float, solver: str, threads: int = 1) -> Any:
    """Return HiGHS after it has run; interior point goes without crossover.

    Its central duals keep prices from jumping between iterations of column generation.
    """
    import highspy  # an engine: loaded in an engine's process only

    made = highspy.HighsLp()
    made.num_col_, made.num_row_ = len(lp.cost), len(lp.lower)
    made.col_cost_, made.col_lower_ = lp.cost, np.zeros(len(lp.cost))
    made.col_upper_ = np.full(len(lp.cost), np.inf) if lp.limits is None else lp.limits
    made.row_lower_, made.row_upper_ = lp.lower, lp.upper
    set_columns(made, lp.matrix)
    engine = quiet_highs()
    engine.setOptionValue("threads", threads)
    engine.setOptionValue("solver", solver)
    if solver == "ipm":
        engine.setOptionValue("run_crossover", "off")
    engine.setOptionValue("time_limit", max(seconds, 0.01))
    engine.passModel(made)
    engine.run()
    return engine


def set_columns(made: Any, matrix: Any) -> None:
    """Give HiGHS' LP a matrix that is compressed by columns."""
    import highspy  # an engine: loaded in an engine's process only

    made.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    made.a_matrix_.start_, made.a_matrix_.index_ = matrix.indptr, matrix.indices
    made.a_matrix_.value_ = matrix.data


def quiet_highs() -> Any:
    """Return a HiGHS object that prints nothing, not even the banner with which 1.16 is made."""
    import highspy  # an engine: loaded in an engine's process only

    kept = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        engine = highspy.Highs()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    engine.setOptionValue("output_flag", False)
    return engine
