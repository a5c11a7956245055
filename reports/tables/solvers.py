"""Solver table: proofs, times, integrals, memory and nodes per solver and formulation."""

import pandas as pd

from reports.formulas import SHIFT_SECONDS, counted_seconds, shifted_geometric_mean
from reports.table import Column, Table, columns

_NOTE = (
    "Wall-clock seconds, at most {limits} a run; threads: {threads}. Lines are comparable only "
    "where they cover the same instances."
)
_NOTE_ITSELF = (
    " Next to a solver without a formulation others work. The columns “itself” count the runs in "
    "which it began, and the runs that it closed, by its own schedules and bounds."
)
_SHIFTED = f"shifted geometric mean, shift {SHIFT_SECONDS:g} s; unsolved runs count with the limit."
_FINAL = "(UB − LB) / UB of the run's own schedule and bound; 1 without one of them."
_PRIMAL = "integral of the incumbent's gap to the best TEL up to the limit (Berthold 2013), mean."


def solver_table(engines: pd.DataFrame) -> Table:
    """Return one line per solver; ``engines`` is ``Timed.runs``."""
    limit = engines["time_limit"].fillna(engines["seconds"])
    runs = engines.assign(
        counted=counted_seconds(engines["seconds"].fillna(0.0), engines["solved"], limit),
        solved_seconds=engines["seconds"].where(engines["solved"]),
        final=(1.0 - engines["lower_bound"].where(engines["believed"]) / engines["tel"]).fillna(1),
        peak=engines["peak_memory"].where(engines["peak_memory"] > 0),
        began=engines["engine_formulation"].ne(""),
        closed=engines["engine_tel"].eq(engines["engine_bound"]).fillna(False),
        open=1.0 - engines["engine_bound"].astype("Float64") / engines["engine_tel"],
    )
    frame = runs.groupby("label", sort=True, as_index=False).agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        solved=("solved", "sum"),
        unsolved=("failed", "sum"),
        median=("solved_seconds", "median"),
        shifted=("counted", shifted_geometric_mean),
        final=("final", "mean"),
        primal=("primal_integral", "mean"),
        primal_dual=("primal_dual_integral", "mean"),
        peak=("peak", "max"),
        nodes=("nodes", "median"),
        started=("began", "sum"),
        own_solved=("closed", "sum"),
        own_gap=("open", "mean"),
    )
    limits, threads = (
        ", ".join(f"{each:g}" for each in sorted(engines[name].dropna().unique())) or "none"
        for name in ("time_limit", "threads")
    )
    note, began = _NOTE.format(limits=limits, threads=threads), bool(frame["started"].any())
    shown = _COLUMNS + _ITSELF * began
    return Table("solvers", "Solvers", note + _NOTE_ITSELF * began, shown, frame)


_COLUMNS = (
    Column("label", "solver", "name"),
    *columns("count", instances="instances", runs="runs"),
    Column("solved", "solved", "count", note="LB = UB in integers, checked."),
    Column("unsolved", "no schedule", "count"),
    Column("median", "median of solved, s", "seconds"),
    Column("shifted", "shifted mean, s", "seconds", note=_SHIFTED),
    Column("final", "gap at the end, mean", "share", note=_FINAL),
    Column("primal", "primal integral, s", "seconds", note=_PRIMAL),
    Column("primal_dual", "primal-dual integral, s", "seconds", note="the same to its own bound."),
    Column("peak", "peak memory, MB", "megabytes"),
    Column("nodes", "nodes, median", "count"),
)
_ITSELF = (
    *columns("count", started="itself started", own_solved="itself solved"),
    Column("own_gap", "own gap, mean", "share", note="where it had both, schedule and bound."),
)
