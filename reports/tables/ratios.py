"""Ratios to OPT: the worst of each family."""

import pandas as pd

from reports.per_instance import worst_instances
from reports.prepared_rows import MARK_NOTE
from reports.table import WORST_ON, Column, Table, columns, write_column, write_ratio

_NOTE = (
    "Ratio = TEL / OPT, seeds averaged. One number where OPT is known; else the interval [TEL / "
    "UB, TEL / LB] that holds it, with “?” for no bound, or no schedule on some instance. "
    + MARK_NOTE
)
_MOST = "no instance of the family here exceeds it; rounded up."
_WORST = "the ratio of the instance with the greatest lower end: that much is shown."


def competitive_ratios(averaged: pd.DataFrame) -> Table:
    """Return the worst ratio per family and policy."""
    frame = averaged[~averaged["engine"]]
    worst = worst_instances(frame, ["family", "label"])
    ends = (worst["ratio_low"], worst["ratio_high"], worst["known"])
    worst["worst"] = write_column(write_ratio, *ends)
    table = worst.join(
        frame.groupby(["family", "label"], sort=True).agg(
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
    # A mean over the instances with a schedule would hide the others.
    table["mean_low"] = table["mean_low"].mask(table["unsolved"].gt(0))
    means = (table["mean_low"], table["mean_high"], table["all_known"])
    table["mean"] = write_column(write_ratio, *means)
    # A line without a ratio names no instance.
    nothing = table["ratio_low"].isna() & table["ratio_high"].isna()
    table["instance"] = table["instance"].where(~nothing, "")
    shown = (
        *columns("name", family="family", label="policy"),
        *columns("count", instances="instances", unsolved="no schedule"),
        Column("worst", "worst ratio", "number", sort="ratio_low", note=_WORST),
        Column("instance", WORST_ON, "name"),
        Column("most", "at most", "most", note=_MOST),
        Column("mean", "mean ratio", "number", sort="mean_low"),
    )
    return Table("ratios", "Worst ratios", _NOTE, shown, table)
