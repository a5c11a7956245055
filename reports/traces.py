"""The traces of the runs as long tables; read only where they are asked for."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd


def long_trace(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the points of a trace as columns run (the row's label), seconds, value (rounds).

    Parameters
    ----------
    runs
        Rows of runs; ``column`` holds lists of pairs, or such a list as JSON.
    column
        ``incumbents`` or ``bounds``.

    Notes
    -----
    A run that has a TEL (or a bound) but no trace of it is taken to have found it at its end.
    Points that are no pair of numbers are left out.
    """
    traces = [_points(each) for each in runs[column]]
    counts = np.array([len(each) for each in traces], dtype=int)
    flat = np.array(list(chain.from_iterable(traces)), dtype=float).reshape(-1, 2)
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
    if trace is None or isinstance(trace, float):
        return []
    return [point for point in trace if _is_point(point)]


def _is_point(point: Any) -> bool:
    return (
        not isinstance(point, str)
        and hasattr(point, "__len__")
        and len(point) == 2
        and all(isinstance(each, int | float | np.number) for each in point)
    )
