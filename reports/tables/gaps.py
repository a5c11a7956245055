"""Gap to OPT per family; where OPT is open, the gaps to the two bounds; policies, solvers apart."""

from __future__ import annotations

import pandas as pd

from reports.rows import MARK_NOTE
from reports.table import Column, Table

_NOTE_KNOWN = (
    "Gap = (TEL − OPT) / TEL over the runs whose instance has an optimum to compare with: by "
    "construction, as its file states, or LB = UB. Mean, median and worst are over the runs with a "
    "schedule; in the penalised mean a run without one counts with a gap of 100 %. Share optimal "
    "is of all runs. “One proof” counts instances whose optimum rests on one proof or one argument."
)
_NOTE_OPEN = (
    "Instances whose optimum is open. The gap to the best bound, (TEL − LB) / TEL, is at least the "
    "gap to OPT; the gap to the best schedule, (TEL − UB) / TEL, is at most it. Neither is the gap "
    "to OPT, and these rows are not in the table of known optima."
)
_RANKED = (
    " Ranked within each family by the penalised mean{to}, of the policies within the problem "
    "those that were run on every instance of the family that is counted here. " + MARK_NOTE
)
_SOLVERS = " Solvers only, the least penalised mean{to} first; they begin with a policy's schedule."


def gaps_to_optimum(runs: pd.DataFrame, *, engines: bool = False) -> Table:
    """Return the gaps on instances with a known optimum, per family and policy, or solver."""
    known = runs[runs["known"] & runs["engine"].eq(engines)]
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
    alone = known[known["standing"].isin(["one witness", "one argument"])]
    frame["alone"] = alone.groupby(["family", "label"])["id"].nunique()
    frame["alone"] = frame["alone"].fillna(0).astype(int)
    columns = (
        *_head(engines=engines),
        Column("mean", "mean gap", "share"),
        Column("penalised", "mean, penalised", "share"),
        Column("median", "median gap", "share"),
        Column("worst", "worst gap", "share"),
        Column("optimal", "optimal", "share"),
        Column("alone", "one proof", "count"),
    )
    frame = _ordered(frame, known)
    if engines:
        return Table("gaps-solvers", "Gap to OPT, solvers", _of_solvers(""), columns, frame)
    return Table("gaps", "Gap to OPT", _NOTE_KNOWN + _RANKED.format(to=""), columns, frame)


def gaps_to_bounds(runs: pd.DataFrame, *, engines: bool = False) -> Table:
    """Return both gaps on instances whose optimum is open, per family and policy, or solver."""
    still = runs["standing"].isin(["open", "contradiction", "none"])
    unknown = runs[~runs["known"] & still & runs["engine"].eq(engines)]
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
    frame["penalised"] = unknown["gap_upper"].fillna(1.0).groupby(_keys(unknown)).mean()
    columns = (
        *_head(engines=engines),
        Column("upper_mean", "to UB: mean", "share"),
        Column("penalised", "to UB: mean, penalised", "share"),
        Column("upper_median", "to UB: median", "share"),
        Column("upper_worst", "to UB: worst", "share"),
        Column("lower_mean", "to LB: mean", "share"),
        Column("lower_median", "to LB: median", "share"),
        Column("lower_worst", "to LB: worst", "share"),
    )
    frame, title = _ordered(frame, unknown), "Gap where OPT is open"
    if engines:
        note = _of_solvers(" to UB", _NOTE_OPEN)
        return Table("gaps-open-solvers", f"{title}, solvers", note, columns, frame)
    note = _NOTE_OPEN + _RANKED.format(to=" to UB")
    return Table("gaps-open", title, note, columns, frame)


def _of_solvers(to: str, note: str = _NOTE_KNOWN) -> str:
    return note + _SOLVERS.format(to=to)


def _head(*, engines: bool) -> tuple[Column, ...]:
    first = (
        (Column("label", "solver", "name"),)
        if engines
        else (Column("rank", "rank", "count"), Column("label", "policy", "name"))
    )
    return (
        Column("family", "family", "name"),
        *first,
        Column("instances", "instances", "count"),
        Column("runs", "runs", "count"),
        Column("unsolved", "no schedule", "count"),
    )


def _ordered(frame: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the lines by family and rank, those without one by their mean after all others."""
    lines = frame.reset_index()
    of_family = runs.groupby("family")["id"].nunique()
    marked = runs.groupby("label")["marked"].first()
    compared = lines["instances"].eq(lines["family"].map(of_family)) & ~lines["label"].map(
        marked
    ).astype(bool)
    # Equal means are equal in rank.
    means = lines["penalised"].astype(float).round(9).where(compared)
    lines["rank"] = means.groupby(lines["family"]).rank(method="min").astype("Int64")
    lines["_mean"] = lines["penalised"].astype(float)
    order = ["family", "rank", "_mean", "label"]
    return lines.sort_values(order, na_position="last", ignore_index=True).drop(columns="_mean")


def _keys(runs: pd.DataFrame) -> list[pd.Series]:
    return [runs["family"], runs["label"]]
