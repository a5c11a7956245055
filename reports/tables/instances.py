"""The instances with their best-known values."""

from __future__ import annotations

import pandas as pd

from reports.table import Column, Kind, Table
from schedules.evidence import STANDINGS
from schedules.gap import gaps

_NOTE = (
    "UB: the best checked schedule (TEL, rounds). LB: the best bound that is believed. OPT is "
    "known where two proofs show it that share neither model code nor argument; “one argument "
    "only” means that two share the argument, “one proof only” that LB = UB rests on less. “By "
    "construction”: the value of OPT follows from the instance's construction, and nothing shows "
    "that UB is optimal. Gap = (UB − LB) / UB."
)


_NOTE_SECONDS = (
    "Instances in seconds, each with its batch time. UB: the total latency of the best checked "
    "schedule, LB: the best bound that is believed, both in seconds. Gap = (UB − LB) / UB: no "
    "schedule saves a larger share."
)


def instance_table(reference: pd.DataFrame, runs: pd.DataFrame) -> Table:
    """Return one line an instance in rounds, by family, size and name."""
    frame = _lines(reference[reference["batch_time"].eq("")], runs)
    return Table("instances", "Instances", _NOTE, _columns("count", ""), frame)


def instance_table_in_seconds(reference: pd.DataFrame, runs: pd.DataFrame) -> Table | None:
    """Return one line an instance in seconds and batch time, None where there are none."""
    frame = _lines(reference[reference["batch_time"].ne("")], runs)
    if frame.empty:
        return None
    columns = _columns("nanoseconds", ", s")
    return Table("instances-seconds", "Instances in seconds", _NOTE_SECONDS, columns, frame)


def _lines(reference: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    frame = reference[reference["sha"].str.startswith("unread ").eq(False)]
    frame = frame.sort_values(["family", "n", "instance", "sha"])
    return frame.assign(
        runs=runs.groupby("id").size().reindex(frame.index).fillna(0).astype(int),
        gap=gaps(frame["upper"], frame["lower"]),
        shown=frame["standing"].map(STANDINGS),
    ).reset_index()


def _columns(kind: Kind, unit: str) -> tuple[Column, ...]:
    return (
        Column("family", "family", "name"),
        Column("instance", "instance", "name"),
        Column("n", "n", "count"),
        Column("memory", "M", "count"),
        Column("upper", f"UB{unit}", kind),
        Column("upper_by", "UB by", "name"),
        Column("lower", f"LB{unit}", kind),
        Column("lower_by", "LB by", "name"),
        Column("gap", "gap", "share"),
        Column("shown", "OPT", "text"),
        Column("runs", "runs", "count"),
    )
