"""Gap to OPT per family; where OPT is open, the gaps to the two bounds; policies, solvers apart."""

from dataclasses import replace

import pandas as pd

from reports.per_instance import spread_note, spread_of_runs
from reports.prepared_rows import MARK_NOTE
from reports.table import Column, Table, columns

_NOTE_KNOWN = (
    "Runs whose instance has an optimum to compare with: by construction, or LB = UB. Mean, median "
    "and worst are over the runs with a schedule."
)
_NOTE_OPEN = (
    "Instances whose optimum is open. The gap to the best bound, (TEL − LB) / TEL, is at least the "
    "gap to OPT; the gap to the best schedule, (TEL − UB) / TEL, is at most it."
)
_PENALISED = "a run without a schedule counts with a gap of 100 %."
_RANK = "by the penalised mean{to}, of policies within the problem run on all of the family here."
_SOLVERS = " Solvers only, the least penalised mean{to} first; they begin with a policy's schedule."


def gaps_to_optimum(runs: pd.DataFrame, *, engines: bool = False) -> Table:
    """Return the gaps on instances with a known optimum, per family and policy, or solver."""
    known = runs[runs["known"] & runs["engine"].eq(engines)]
    frame = _lines(known, "gap_opt")
    optimal = known["gap_opt"].eq(0).fillna(False) & ~known["kept"]
    frame["optimal"] = optimal.astype(float).groupby([known["family"], known["label"]]).mean()
    alone = known[known["standing"].isin(["one witness", "one argument"])]
    frame["alone"] = alone.groupby(["family", "label"])["id"].nunique()
    frame["alone"] = frame["alone"].fillna(0).astype(int)
    shown = (
        Column("gap_opt_mean", "mean gap", "share", note="(TEL − OPT) / TEL."),
        Column("penalised", "mean, penalised", "share", spread="spread", note=_PENALISED),
        *columns("share", gap_opt_median="median gap", gap_opt_max="worst gap"),
        Column("optimal", "optimal", "share", note="share of runs with TEL = OPT, proved or not."),
        Column("alone", "one proof", "count", note="instances whose OPT rests on one proof."),
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
        Column("penalised", "to UB: mean, penalised", "share", spread="spread", note=_PENALISED),
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
        penalised=runs[gaps[0]].fillna(1.0).groupby([runs["family"], runs["label"]]).mean(),
        **spread_of_runs(runs, ["family", "label"]),
    )


def _ranked(made: Table, to: str, *, engines: bool) -> Table:
    """Return a table with its first columns and its rule of ranks, of policies or solvers."""
    rank = () if engines else (Column("rank", "rank", "count", note=_RANK.format(to=to)),)
    shown = (
        Column("family", "family", "name"),
        *rank,
        Column("label", "solver" if engines else "policy", "name"),
        *columns("count", instances="instances", runs="runs", unsolved="no schedule"),
        *made.columns,
    )
    note = made.note + (_SOLVERS.format(to=to) if engines else f" {MARK_NOTE}")
    made = replace(made, columns=shown, note=note + spread_note(made.frame))
    if engines:
        made = replace(made, slug=f"{made.slug}-solvers", title=f"{made.title}, solvers")
    return made


def _ordered(frame: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the lines by family and rank, those without one by their mean after all others."""
    lines = frame.reset_index()
    of_family = runs.groupby("family")["id"].nunique()
    marked = lines["label"].map(runs.groupby("label")["marked"].first()).astype(bool)
    compared = lines["instances"].eq(lines["family"].map(of_family)) & ~marked
    means = lines["penalised"].astype(float)
    # Equal means are equal in rank.
    ranks = means.round(9).where(compared).groupby(lines["family"]).rank(method="min")
    lines = lines.assign(rank=ranks.astype("Int64"), _mean=means)
    order = ["family", "rank", "_mean", "label"]
    return lines.sort_values(order, na_position="last", ignore_index=True).drop(columns="_mean")
