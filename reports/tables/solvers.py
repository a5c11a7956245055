"""Solver tables: proofs, times, integrals, memory and nodes per solver and formulation."""

from __future__ import annotations

import pandas as pd

from reports.metrics import SHIFT_SECONDS, counted_seconds, shifted_geometric_mean
from reports.table import Column, Table, columns

_NOTE = (
    "Wall-clock seconds on the machines listed below. Solved: LB = UB in integers, checked. The "
    "shifted geometric mean of times has a shift of "
    f"{SHIFT_SECONDS:g} s and counts every run that is not solved with its time limit, however it "
    "ended. Primal integral (Berthold 2013): the integral over the time limit of the gap between "
    "the incumbent and the best known TEL, mean over the runs, in seconds; primal-dual integral: "
    "the same for the gap between the run's own incumbent and bound. Lines are comparable only "
    "where they cover the same instances."
)
_NOTE_ITSELF = (
    " Beside a solver without a formulation others work; what it had itself, of its own schedules "
    "and bounds: the runs in which it began and those that it closed, and the mean of its own gaps "
    "where it had both."
)


def solver_table(engines: pd.DataFrame) -> Table:
    """Return one line per solver, over all families; ``engines`` is ``Timed.runs``."""
    frame = _lines(engines, ["label"])
    shown, note = _shown(frame)
    return Table("solvers", "Solvers", _NOTE + note, (_METHOD, *shown), frame)


def solver_table_by_family(engines: pd.DataFrame) -> Table:
    """Return one line per family and solver; ``engines`` is ``Timed.runs``."""
    frame = _lines(engines, ["family", "label"])
    if frame["family"].nunique() < 2:  # the table of all says it
        frame = frame.iloc[:0]
    shown = (Column("family", "family", "name"), _METHOD, *_shown(frame)[0])
    note = "The table above, by family."
    return Table("solvers-by-family", "Solvers by family", note, shown, frame)


def _shown(frame: pd.DataFrame) -> tuple[tuple[Column, ...], str]:
    """Return the columns, those on solvers themselves where there are any, and what these mean."""
    return (_COLUMNS + _ITSELF, _NOTE_ITSELF) if frame["started"].any() else (_COLUMNS, "")


def _lines(engines: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    limit = engines["time_limit"].fillna(engines["seconds"])
    runs = engines.assign(
        counted=counted_seconds(engines["seconds"].fillna(0.0), engines["solved"], limit),
        solved_seconds=engines["seconds"].where(engines["solved"]),
        peak=engines["peak_memory"].where(engines["peak_memory"] > 0),
        began=engines["engine_formulation"].ne(""),
        closed=engines["engine_tel"].eq(engines["engine_bound"]).fillna(False),
        open=1.0 - engines["engine_bound"].astype("Float64") / engines["engine_tel"],
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
        started=("began", "sum"),
        own_solved=("closed", "sum"),
        own_gap=("open", "mean"),
    )
    return frame.reset_index()


_METHOD = Column("label", "solver", "name")
_COLUMNS = (
    *columns("count", instances="instances", runs="runs", solved="solved", unsolved="no schedule"),
    *columns("seconds", median="median of solved, s", shifted="shifted mean, s"),
    *columns("seconds", primal="primal integral, s", primal_dual="primal-dual integral, s"),
    Column("peak", "peak memory, MB", "megabytes"),
    Column("nodes", "nodes, median", "count"),
)
_ITSELF = (
    *columns("count", started="itself begun", own_solved="itself solved"),
    Column("own_gap", "own gap, mean", "share"),
)
