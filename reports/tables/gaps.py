"""Gap to OPT per family and method; where OPT is open, the gaps to the two bounds, kept apart."""

from __future__ import annotations

import pandas as pd

from reports.rows import MARK_NOTE
from reports.table import Column, Table

_NOTE_KNOWN = (
    "Gap = (TEL − OPT) / TEL over the runs whose instance has an optimum to compare with: by "
    "construction, as its file states, or LB = UB. Mean, median and worst are over the runs with a "
    "schedule; in the penalised mean a run without one counts with a gap of 100 %. Share optimal "
    "is of all runs. “One witness” counts instances whose optimum rests on one witness only. "
    + MARK_NOTE
)
_NOTE_OPEN = (
    "Instances whose optimum is open. The gap to the best bound, (TEL − LB) / TEL, is at least the "
    "gap to OPT; the gap to the best schedule, (TEL − UB) / TEL, is at most it. Neither is the gap "
    "to OPT, and these rows are not in the table of known optima."
)


def gaps_to_optimum(runs: pd.DataFrame) -> Table:
    """Return the gaps on instances with a known optimum, per family and method."""
    known = runs[runs["known"]]
    groups = known.groupby(["family", "label"], sort=True)
    frame = groups.agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        unsolved=("failed", "sum"),
        mean=("gap_opt", "mean"),
        median=("gap_opt", "median"),
        worst=("gap_opt", "max"),
    )
    frame["penalised"] = known["gap_opt"].fillna(1.0).groupby(_keys(known)).mean()
    optimal = known["gap_opt"].eq(0).fillna(False) & ~known["kept"]
    frame["optimal"] = optimal.astype(float).groupby(_keys(known)).mean()
    alone = known[known["standing"].eq("one witness")]
    frame["alone"] = alone.groupby(["family", "label"])["id"].nunique()
    frame["alone"] = frame["alone"].fillna(0).astype(int)
    columns = (
        *_HEAD,
        Column("mean", "mean gap", "share"),
        Column("penalised", "mean, penalised", "share"),
        Column("median", "median gap", "share"),
        Column("worst", "worst gap", "share"),
        Column("optimal", "optimal", "share"),
        Column("alone", "one witness", "count"),
    )
    return Table("gaps", "Gap to OPT", _NOTE_KNOWN, columns, frame.reset_index())


def gaps_to_bounds(runs: pd.DataFrame) -> Table:
    """Return both gaps on instances whose optimum is open, per family and method."""
    unknown = runs[~runs["known"] & runs["standing"].isin(["open", "contradiction", "none"])]
    groups = unknown.groupby(["family", "label"], sort=True)
    frame = groups.agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        unsolved=("failed", "sum"),
        lower_mean=("gap_lower", "mean"),
        lower_median=("gap_lower", "median"),
        lower_worst=("gap_lower", "max"),
        upper_mean=("gap_upper", "mean"),
        upper_median=("gap_upper", "median"),
        upper_worst=("gap_upper", "max"),
    )
    columns = (
        *_HEAD,
        Column("lower_mean", "to LB: mean", "share"),
        Column("lower_median", "to LB: median", "share"),
        Column("lower_worst", "to LB: worst", "share"),
        Column("upper_mean", "to UB: mean", "share"),
        Column("upper_median", "to UB: median", "share"),
        Column("upper_worst", "to UB: worst", "share"),
    )
    return Table("gaps-open", "Gap where OPT is open", _NOTE_OPEN, columns, frame.reset_index())


_HEAD = (
    Column("family", "family", "name"),
    Column("label", "method", "name"),
    Column("instances", "instances", "count"),
    Column("runs", "runs", "count"),
    Column("unsolved", "no schedule", "count"),
)


def _keys(runs: pd.DataFrame) -> list[pd.Series]:
    return [runs["family"], runs["label"]]
