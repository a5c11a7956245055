"""The traces of the runs as long tables, and the engines' gaps over time, read from them once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from reports.metrics import integrate, primal_dual_steps, primal_steps


def long_trace(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the points of ``incumbents`` or ``bounds`` as columns run (label), seconds, value.

    A run with a TEL (or a bound) but no trace of it has found it at its end. What is no pair of
    numbers is left out.
    """
    traces = [_points(each) for each in runs[column]]
    counts = np.array([len(each) for each in traces], dtype=int)
    flat = _flat(traces)
    points = pd.DataFrame(
        {
            "run": np.repeat(runs.index.to_numpy(), counts),
            "seconds": flat[:, 0],
            "value": flat[:, 1],
        }
    )
    final = runs["tel" if column == "incumbents" else "lower_bound"]
    bare = (counts == 0) & final.notna().to_numpy()
    ends = pd.DataFrame(
        {
            "run": runs.index[bare],
            "seconds": runs.loc[bare, "seconds"].fillna(0.0).to_numpy(),
            "value": final[bare].astype(float).to_numpy(),
        }
    )
    points = pd.concat([points, ends], ignore_index=True)
    known: pd.DataFrame = points.loc[np.isfinite(points["seconds"]) & (points["value"] > 0)]
    return known


def _points(trace: Any) -> list[Any]:
    if isinstance(trace, str):
        try:
            trace = json.loads(trace)
        except ValueError:
            return []
    if not isinstance(trace, list | tuple | np.ndarray):
        return []
    return list(trace)


def _flat(traces: list[list[Any]]) -> np.ndarray:
    """Return all points, shape (k, 2); what is no pair of numbers becomes a missing point."""
    points = list(chain.from_iterable(traces))
    try:
        flat = np.array(points, dtype=float)
    except (TypeError, ValueError):
        flat = np.array([])
    if flat.shape == (len(points), 2):
        return flat
    pairs = [point if _is_pair(point) else (np.nan, np.nan) for point in points]
    return np.array(pairs, dtype=float).reshape(-1, 2)


def _is_pair(point: Any) -> bool:
    return (
        isinstance(point, list | tuple | np.ndarray)
        and len(point) == 2
        and all(isinstance(each, int | float | np.number) for each in point)
    )


@dataclass(frozen=True)
class Timed:
    """Runs of engines and when their gaps change, as columns run, seconds, gap.

    The runs have primal_integral and primal_dual_integral (seconds), where any has a trace.
    ``primal`` is the gap to OPT or else the best known TEL, ``primal_dual`` that to a run's own
    bound.
    """

    runs: pd.DataFrame
    primal: pd.DataFrame
    primal_dual: pd.DataFrame


def timed(runs: pd.DataFrame) -> Timed:
    """Return the engines among the runs with their gaps over time."""
    engines = runs[runs["engine"]]
    incumbents, bounds = long_trace(engines, "incumbents"), long_trace(engines, "bounds")
    best = engines["opt"].where(engines["opt"].notna(), engines["upper"]).astype("Float64")
    primal = primal_steps(incumbents, best.dropna())
    both = primal_dual_steps(incumbents, bounds)
    # Without a limit a run is integrated to its end.
    horizons = engines["time_limit"].fillna(engines["seconds"]).fillna(0.0)
    if engines["incumbents"].fillna("").astype(str).isin(["", "[]"]).all():
        horizons = horizons.iloc[:0]
    engines = engines.assign(
        primal_integral=integrate(primal, horizons[best.notna().reindex(horizons.index)]),
        primal_dual_integral=integrate(both, horizons),
    )
    return Timed(engines, primal, both)
