"""The instances with their best-known values."""

from __future__ import annotations

import pandas as pd

from reports.metrics.gap import gap
from reports.table import Column, Table
from schedules.evidence import STANDINGS

_NOTE = (
    "UB: the best checked schedule (TEL, rounds). LB: the best bound that is believed. OPT is "
    "known where two witnesses prove it that share no model code (engines, or a certificate), or "
    "one and the construction; “one witness only” means that LB = UB rests on less. “By "
    "construction”: the value of OPT follows from the instance's construction, and nothing shows "
    "that UB is optimal. Gap = (UB − LB) / UB."
)


def instance_table(reference: pd.DataFrame, runs: pd.DataFrame) -> Table:
    """Return one line an instance, by family, size and name."""
    frame = reference[reference["sha"].str.startswith("unread ").eq(False)]
    frame = frame.sort_values(["family", "n", "instance", "sha"])
    frame = frame.assign(
        runs=runs.groupby("id").size().reindex(frame.index).fillna(0).astype(int),
        gap=gap(frame["upper"], frame["lower"]),
        shown=frame["standing"].map(STANDINGS),
    ).reset_index()
    columns = (
        Column("family", "family", "name"),
        Column("instance", "instance", "name"),
        Column("n", "n", "count"),
        Column("memory", "M", "count"),
        Column("upper", "UB", "count"),
        Column("upper_by", "UB by", "name"),
        Column("lower", "LB", "count"),
        Column("lower_by", "LB by", "name"),
        Column("gap", "gap", "share"),
        Column("shown", "OPT", "text"),
        Column("runs", "runs", "count"),
    )
    return Table("instances", "Instances", _NOTE, columns, frame)
