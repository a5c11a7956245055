"""The prices of ``clique_lp`` by GLOP, for processes that have CP-SAT and so cannot load HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.clique_lp import CliqueLP


def by_glop(made: CliqueLP, seconds: float) -> NDArray[np.float64] | None:
    """Return the reduced costs that GLOP finds, the simplex method that comes with CP-SAT."""
    from ortools.linear_solver.python import model_builder, model_builder_helper

    model = model_builder_helper.ModelBuilderHelper()
    zeros = np.zeros(len(made.upper))
    fill: Any = model.fill_model_from_sparse_data
    fill(zeros, made.upper, made.cost, made.sides, made.sides, made.matrix.tocsr())
    engine = model_builder_helper.ModelSolverHelper("GLOP")
    engine.set_time_limit_in_seconds(max(seconds, 0.01))
    engine.solve(model)
    if engine.status() != model_builder.SolveStatus.OPTIMAL:
        return None
    return np.asarray(engine.reduced_costs())
