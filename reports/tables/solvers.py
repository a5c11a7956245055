"""Solver tables: proofs, times, integrals, memory and nodes per engine and formulation."""

from __future__ import annotations

import pandas as pd

from reports.metrics.integral import integrate, primal_dual_steps, primal_steps
from reports.metrics.shifted_mean import SHIFT_SECONDS, counted_seconds, shifted_geometric_mean
from reports.table import Column, Table
from reports.traces import long_trace

_NOTE = (
    "Wall-clock seconds on the machines listed below. Solved: LB = UB in integers, checked. The "
    "shifted geometric mean of times has a shift of "
    f"{SHIFT_SECONDS:g} s and counts every run that is not solved with its time limit, however it "
    "ended. Primal integral (Berthold 2013): the integral over the time limit of the gap between "
    "the incumbent and the best known TEL, mean over the runs, in seconds; primal-dual integral: "
    "the same for the gap between the run's own incumbent and bound. Lines are comparable only "
    "where they cover the same instances."
)


def solver_table(runs: pd.DataFrame) -> Table:
    """Return one line per engine, over all families."""
    frame = _lines(runs[runs["engine"]], ["label"])
    return Table("solvers", "Solvers", _NOTE, (_METHOD, *_COLUMNS), frame)


def solver_table_by_family(runs: pd.DataFrame) -> Table:
    """Return one line per family and engine."""
    frame = _lines(runs[runs["engine"]], ["family", "label"])
    columns = (Column("family", "family", "name"), _METHOD, *_COLUMNS)
    return Table("solvers-by-family", "Solvers by family", _NOTE, columns, frame)


def with_integrals(engines: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with primal_integral and primal_dual_integral, seconds.

    The reference of the primal integral is OPT or, where it is open, the best known TEL; runs on
    instances without either have none.
    """
    incumbents = long_trace(engines, "incumbents")
    bounds = long_trace(engines, "bounds")
    horizons = engines["time_limit"].fillna(engines["seconds"]).fillna(0.0)
    best = engines["opt"].where(engines["opt"].notna(), engines["upper"]).astype("Float64")
    primal = integrate(primal_steps(incumbents, best.dropna()), horizons[best.notna()])
    both = integrate(primal_dual_steps(incumbents, bounds), horizons)
    return engines.assign(primal_integral=primal.reindex(engines.index), primal_dual_integral=both)


def _lines(engines: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    runs = with_integrals(engines)
    runs["counted"] = counted_seconds(
        runs["seconds"].fillna(0.0), runs["solved"], runs["time_limit"].fillna(runs["seconds"])
    )
    runs["solved_seconds"] = runs["seconds"].where(runs["solved"])
    runs["peak"] = runs["peak_memory"].where(runs["peak_memory"] > 0)
    frame = runs.groupby(keys, sort=True).agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        solved=("solved", "sum"),
        unsolved=("tel", lambda each: each.isna().sum()),
        median=("solved_seconds", "median"),
        shifted=("counted", shifted_geometric_mean),
        primal=("primal_integral", "mean"),
        primal_dual=("primal_dual_integral", "mean"),
        peak=("peak", "max"),
        nodes=("nodes", "median"),
    )
    return frame.reset_index()


_METHOD = Column("label", "method", "name")
_COLUMNS = (
    Column("instances", "instances", "count"),
    Column("runs", "runs", "count"),
    Column("solved", "solved", "count"),
    Column("unsolved", "no schedule", "count"),
    Column("median", "median s, solved", "seconds"),
    Column("shifted", "shifted mean s", "seconds"),
    Column("primal", "primal integral s", "seconds"),
    Column("primal_dual", "primal-dual integral s", "seconds"),
    Column("peak", "peak memory MB", "megabytes"),
    Column("nodes", "nodes, median", "count"),
)
