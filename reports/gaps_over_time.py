"""The traces of runs as long tables, and the integrals of engines' gaps over time."""

import json
from typing import Any

import numpy as np
import pandas as pd

from reports.formulas import integrate, primal_dual_steps, primal_steps


def long_trace(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the points of ``incumbents`` or ``bounds`` as columns run (label), seconds, value.

    A run with a TEL (or a bound) without a trace has found it at its end. A point that is no pair
    of numbers is left out.
    """
    points: list[tuple[Any, float, float]] = []
    final = runs["tel" if column == "incumbents" else "lower_bound"]
    ends = runs["seconds"].fillna(0.0).astype(float)
    for run, trace, value, end in zip(runs.index, runs[column], final, ends, strict=True):
        pairs = _pairs(trace)
        if not pairs and pd.notna(value):
            pairs = [(end, float(value))]
        points += [(run, *pair) for pair in pairs]
    made = pd.DataFrame(points, columns=["run", "seconds", "value"])
    made = made.astype({"seconds": float, "value": float})
    known: pd.DataFrame = made[np.isfinite(made["seconds"]) & made["value"].gt(0)]
    return known


def _pairs(trace: Any) -> list[tuple[float, float]]:
    if isinstance(trace, str):
        try:
            trace = json.loads(trace)
        except ValueError:
            return []
    lists = (list, tuple, np.ndarray)
    return [
        (float(point[0]), float(point[1]))
        for point in (trace if isinstance(trace, lists) else ())
        if isinstance(point, lists)
        and len(point) == 2
        and all(isinstance(each, int | float | np.number) for each in point)
    ]


def engine_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the engines among the runs, with the integrals of their gaps where any has a trace.

    Columns primal_integral (of the gap to OPT or the best known TEL) and primal_dual_integral (of
    the gap to the run's bound), in seconds.
    """
    engines = runs[runs["engine"]]
    incumbents, bounds = long_trace(engines, "incumbents"), long_trace(engines, "bounds")
    best = engines["opt"].fillna(engines["upper"]).astype("Float64")
    primal = primal_steps(incumbents, best.dropna())
    both = primal_dual_steps(incumbents, bounds)
    # Without a limit a run is integrated to its end.
    horizons = engines["time_limit"].fillna(engines["seconds"]).fillna(0.0)
    if engines["incumbents"].fillna("").astype(str).isin(["", "[]"]).all():
        horizons = horizons.iloc[:0]
    return engines.assign(
        primal_integral=integrate(primal, horizons[best.notna().reindex(horizons.index)]),
        primal_dual_integral=integrate(both, horizons),
    )
