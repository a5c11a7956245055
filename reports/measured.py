"""Runs with their references: the gaps and ratios that all tables and figures are made of."""

from __future__ import annotations

import pandas as pd

from kvopt.runs.record import columns
from reports.metrics import ratio_interval
from schedules.gap import gaps

#: Tables name the machines by the rows themselves (``reports.tables.machines``).
_LEFT_OUT = [
    "known_optimum",
    *(column.name for column in columns() if column.part == "origin"),
]


def measured(rows: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that count with their instance's references, gaps and ratios.

    Superseded runs are left out, as are those whose instance was never read.

    Returns
    -------
    pandas.DataFrame
        The rows with the added columns upper, lower, opt, standing, ``known`` (bool: OPT is known,
        by whatever proof), gap_opt, gap_upper, gap_lower (shares), gap_low and gap_high (the
        interval that holds the gap to OPT, 1 for a run without a schedule), ratio_low, ratio_high
        and ``failed`` (bool: no schedule).  A run that keeps tokens is
        compared with the best schedule of its own, easier problem: UB or its own, if that is less.
        Where no bound is about that problem, the upper ends are missing and ``known`` is False.
    """
    runs = rows[~rows["superseded"] & rows["instance_sha256"].ne("")]
    # Every selection of rows copies all columns; these are not asked for again.
    runs = runs.drop(columns=_LEFT_OUT).join(
        reference[["upper", "upper_by", "lower", "lower_by", "opt", "standing"]], on="id"
    )
    bounded = ~runs["unbounded"]
    upper = runs["opt"].fillna(runs["upper"])
    upper = upper.where(~runs["preempts"] | upper.le(runs["tel"]).fillna(False), runs["tel"])
    lower = runs["opt"].fillna(runs["lower"]).where(bounded)
    opt = runs["opt"].where(bounded)
    runs["known"] = opt.notna()
    interval = ratio_interval(runs["tel"], lower, upper)
    return runs.assign(
        failed=runs["tel"].isna(),
        gap_opt=gaps(runs["tel"], opt),
        gap_upper=gaps(runs["tel"], upper),
        gap_lower=gaps(runs["tel"], lower),
        gap_low=gaps(runs["tel"], upper).where(runs["tel"].notna(), 1.0),
        gap_high=gaps(runs["tel"], lower).where(runs["tel"].notna(), 1.0),
        ratio_low=interval["low"],
        ratio_high=interval["high"],
    ).reset_index(drop=True)
