"""Ratios to OPT: the worst of each family, and those to optima known by construction, by size."""

from __future__ import annotations

import pandas as pd

from reports.interval import interval_text
from reports.per_instance import worst_instances
from reports.rows import MARK_NOTE
from reports.table import WORST_ON, Column, Table, columns

_NOTE = (
    "Ratio = TEL / OPT, seeds averaged. One number where OPT is known; else the interval [TEL / "
    "UB, TEL / LB] that holds it (“?”: no bound, or no schedule on some instance, where there is "
    "no mean either). The worst instance is the one with the greatest lower end: that much is "
    "shown. No instance of the family here exceeds “at most”. " + MARK_NOTE
)
_NOTE_KNOWN = (
    "Instances whose optimum follows from their construction (3-Partition with a solution, "
    "planted waves), or is stated by a file of your own; solvers have no part in it. TEL / OPT by "
    "family and n, seeds averaged; none where an instance has no schedule."
)


def competitive_ratios(averaged: pd.DataFrame) -> Table:
    """Return the worst ratio per family and policy."""
    frame = averaged[~averaged["engine"]]
    groups = frame.groupby(["family", "label"], sort=True)
    worst = worst_instances(frame, ["family", "label"])
    worst["worst"] = interval_text(worst["ratio_low"], worst["ratio_high"], worst["known"])
    table = worst.join(
        groups.agg(
            mean_low=("ratio_low", "mean"),
            bounded=("ratio_high", "count"),
            mean_high=("ratio_high", "mean"),
            most=("ratio_high", "max"),
            all_known=("known", "all"),
        )
    ).reset_index()
    # One instance without a bound, and nothing is known of the worst or the mean.
    unbounded = table["bounded"] < table["instances"]
    table[["mean_high", "most"]] = table[["mean_high", "most"]].mask(unbounded)
    # A mean over those with a schedule would hide the others.
    table["mean_low"] = table["mean_low"].mask(table["unsolved"].gt(0))
    table["mean"] = interval_text(table["mean_low"], table["mean_high"], table["all_known"])
    # What shows no ratio at all names no instance.
    nothing = table["ratio_low"].isna() & table["ratio_high"].isna()
    table["instance"] = table["instance"].where(~nothing, "")
    shown = (
        *columns("name", family="family", label="policy"),
        *columns("count", instances="instances", unsolved="no schedule"),
        Column("worst", "worst ratio", "ratio", sort="ratio_low"),
        Column("instance", WORST_ON, "name"),
        Column("most", "at most", "ratio"),
        Column("mean", "mean ratio", "ratio", sort="mean_low"),
    )
    return Table("ratios", "Competitive ratios", _NOTE, shown, table)


def known_optima(
    averaged: pd.DataFrame, constructed: frozenset[str], *, engines: bool = False
) -> Table:
    """Return mean and worst ratio per family, number of requests and policy, or solver.

    ``constructed`` has the ``id`` of the instances with an optimum by construction.
    """
    frame = averaged[averaged["engine"].eq(engines)]
    frame = frame[frame["id"].isin(constructed) & frame["known"]]
    frame = frame.assign(optimal=frame["ratio_low"].eq(1).fillna(False) & ~frame["kept"])
    table = (
        frame.groupby(["family", "n", "label"], sort=True)
        .agg(
            instances=("id", "nunique"),
            unsolved=("failed", "sum"),
            mean=("ratio_low", "mean"),
            worst=("ratio_low", "max"),
            optimal=("optimal", "sum"),
        )
        .reset_index()
        .sort_values(["family", "n", "mean", "label"])
    )
    # A mean over those with a schedule would hide the others, and the worst is not known.
    table[["mean", "worst"]] = table[["mean", "worst"]].mask(table["unsolved"].gt(0))
    shown = (
        Column("family", "family", "name"),
        Column("n", "n", "count"),
        Column("label", "solver" if engines else "policy", "name"),
        *columns("count", instances="instances", unsolved="no schedule", optimal="optimal"),
        *columns("ratio", mean="mean ratio", worst="worst ratio"),
    )
    made = Table("known-optima", "Against optima known by construction", _NOTE_KNOWN, shown, table)
    return made.of_solvers() if engines else made
