"""The engines' runs with their gaps over time; the traces are read here, once."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reports.metrics import integrate, primal_dual_steps, primal_steps
from reports.traces import long_trace


@dataclass(frozen=True)
class Timed:
    """Runs of engines and when their gaps change.

    Attributes
    ----------
    runs
        The runs with primal_integral and primal_dual_integral, seconds; none where no run has a
        trace, as in rows that are committed without.
    primal
        Steps of the gap to OPT or, where it is open, to the best known TEL: columns run, seconds,
        gap.  Runs on instances without either are not in it.
    primal_dual
        Steps of the gap between a run's own incumbent and bound.
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
