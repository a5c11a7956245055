"""Solver tables: proofs, times, integrals, memory and nodes per solver and formulation."""

from __future__ import annotations

import pandas as pd

from reports.metrics.shifted_mean import SHIFT_SECONDS, counted_seconds, shifted_geometric_mean
from reports.table import Column, Table

_NOTE = (
    "Wall-clock seconds on the machines listed below. Solved: LB = UB in integers, checked. The "
    "shifted geometric mean of times has a shift of "
    f"{SHIFT_SECONDS:g} s and counts every run that is not solved with its time limit, however it "
    "ended. Primal integral (Berthold 2013): the integral over the time limit of the gap between "
    "the incumbent and the best known TEL, mean over the runs, in seconds; primal-dual integral: "
    "the same for the gap between the run's own incumbent and bound. Lines are comparable only "
    "where they cover the same instances."
)


def solver_table(engines: pd.DataFrame) -> Table:
    """Return one line per solver, over all families; ``engines`` is ``Timed.runs``."""
    frame = _lines(engines, ["label"])
    return Table("solvers", "Solvers", _NOTE, (_METHOD, *_COLUMNS), frame)


def solver_table_by_family(engines: pd.DataFrame) -> Table:
    """Return one line per family and solver; ``engines`` is ``Timed.runs``."""
    frame = _lines(engines, ["family", "label"])
    columns = (Column("family", "family", "name"), _METHOD, *_COLUMNS)
    note = "The table above, by family."
    return Table("solvers-by-family", "Solvers by family", note, columns, frame)


def _lines(engines: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    limit = engines["time_limit"].fillna(engines["seconds"])
    runs = engines.assign(
        counted=counted_seconds(engines["seconds"].fillna(0.0), engines["solved"], limit),
        solved_seconds=engines["seconds"].where(engines["solved"]),
        peak=engines["peak_memory"].where(engines["peak_memory"] > 0),
    )
    frame = runs.groupby(keys, sort=True).agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        solved=("solved", "sum"),
        unsolved=("failed", "sum"),
        median=("solved_seconds", "median"),
        shifted=("counted", shifted_geometric_mean),
        primal=("primal_integral", "mean"),
        primal_dual=("primal_dual_integral", "mean"),
        peak=("peak", "max"),
        nodes=("nodes", "median"),
    )
    return frame.reset_index()


_METHOD = Column("label", "solver", "name")
_COLUMNS = (
    Column("instances", "instances", "count"),
    Column("runs", "runs", "count"),
    Column("solved", "solved", "count"),
    Column("unsolved", "no schedule", "count"),
    Column("median", "median of solved, s", "seconds"),
    Column("shifted", "shifted mean, s", "seconds"),
    Column("primal", "primal integral, s", "seconds"),
    Column("primal_dual", "primal-dual integral, s", "seconds"),
    Column("peak", "peak memory, MB", "megabytes"),
    Column("nodes", "nodes, median", "count"),
)
