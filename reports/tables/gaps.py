"""Gap to OPT per family; where OPT is open, the gaps to the two bounds; policies, solvers apart."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from reports.rows import MARK_NOTE
from reports.spread import spread_note, spread_of_runs
from reports.table import Column, Table, columns

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
    frame = _lines(known, "gap_opt")
    optimal = known["gap_opt"].eq(0).fillna(False) & ~known["kept"]
    frame["optimal"] = optimal.astype(float).groupby(_keys(known)).mean()
    alone = known[known["standing"].isin(["one witness", "one argument"])]
    frame["alone"] = alone.groupby(["family", "label"])["id"].nunique()
    frame["alone"] = frame["alone"].fillna(0).astype(int)
    shown = (
        Column("gap_opt_mean", "mean gap", "share"),
        Column("penalised", "mean, penalised", "share", spread="spread"),
        *columns("share", gap_opt_median="median gap", gap_opt_max="worst gap", optimal="optimal"),
        Column("alone", "one proof", "count"),
    )
    made = Table("gaps", "Gap to OPT", _NOTE_KNOWN, shown, _ordered(frame, known))
    return _ranked(made, "", engines=engines)


def gaps_to_bounds(runs: pd.DataFrame, *, engines: bool = False) -> Table:
    """Return both gaps on instances whose optimum is open, per family and policy, or solver."""
    still = runs["standing"].isin(["open", "contradiction", "none"])
    unknown = runs[~runs["known"] & still & runs["engine"].eq(engines)]
    frame = _ordered(_lines(unknown, "gap_upper", "gap_lower"), unknown)
    shown = (
        Column("gap_upper_mean", "to UB: mean", "share"),
        Column("penalised", "to UB: mean, penalised", "share", spread="spread"),
        *columns("share", gap_upper_median="to UB: median", gap_upper_max="to UB: worst"),
        *columns("share", gap_lower_mean="to LB: mean", gap_lower_median="to LB: median"),
        Column("gap_lower_max", "to LB: worst", "share"),
    )
    made = Table("gaps-open", "Gap where OPT is open", _NOTE_OPEN, shown, frame)
    return _ranked(made, " to UB", engines=engines)


def _lines(runs: pd.DataFrame, *gaps: str) -> pd.DataFrame:
    """Return mean, median and largest of some gaps, and the penalised mean of the first."""
    frame = runs.groupby(["family", "label"], sort=True).agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        unsolved=("failed", "sum"),
        **{f"{gap}_{take}": (gap, take) for gap in gaps for take in ("mean", "median", "max")},
    )
    return frame.assign(
        penalised=runs[gaps[0]].fillna(1.0).groupby(_keys(runs)).mean(),
        spread=spread_of_runs(runs, ["family", "label"]),
    )


def _ranked(made: Table, to: str, *, engines: bool) -> Table:
    """Return a table with its first columns and how it is ranked, of policies or solvers."""
    shown = (
        Column("family", "family", "name"),
        *columns("count", **({} if engines else {"rank": "rank"})),
        Column("label", "solver" if engines else "policy", "name"),
        *columns("count", instances="instances", runs="runs", unsolved="no schedule"),
        *made.columns,
    )
    note = made.note + (_SOLVERS if engines else _RANKED).format(to=to)
    note += spread_note(made.frame["spread"])
    made = replace(made, columns=shown, note=note)
    return made.of_solvers() if engines else made


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
