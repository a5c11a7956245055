"""The runs themselves, as many as a page can carry."""

from __future__ import annotations

import pandas as pd

from reports.table import Column, Table

#: Lines of the page's table of runs.
MOST_RUNS = 1000
_NOTE = (
    "The first runs by family, size, instance and method. The store holds all of them: "
    "evaluate.py --export writes them as Parquet or CSV."
)
COLUMNS = (
    Column("instance", "instance", "name"),
    Column("label", "method", "name"),
    Column("seed", "seed", "count"),
    Column("status", "status", "name"),
    Column("tel", "TEL", "count"),
    Column("lower_bound", "LB", "count"),
    Column("gap_opt", "gap to OPT", "share"),
    Column("seconds", "seconds", "seconds"),
    Column("peak_memory", "peak memory, MB", "megabytes"),
    Column("nodes", "nodes", "count"),
)


def run_table(runs: pd.DataFrame) -> Table:
    """Return the first runs in rounds."""
    return _first("runs", "Runs", runs[~runs["in_seconds"]], COLUMNS)


def run_table_in_seconds(runs: pd.DataFrame) -> Table | None:
    """Return the first runs in seconds, None where there are none."""
    found = runs[runs["in_seconds"]]
    columns = columns_in(in_seconds=True)
    return None if found.empty else _first("runs-seconds", "Runs in seconds", found, columns)


def columns_in(*, in_seconds: bool) -> tuple[Column, ...]:
    """Return the columns of runs, TEL and bound in rounds or in seconds."""
    if not in_seconds:
        return COLUMNS
    unit = {"tel": "TEL, s", "lower_bound": "LB, s"}
    columns = [
        Column(each.key, unit[each.key], "nanoseconds") if each.key in unit else each
        for each in COLUMNS
    ]
    columns.insert(1, Column("batch_time", "batch time", "name"))
    return tuple(columns)


def _first(slug: str, title: str, runs: pd.DataFrame, columns: tuple[Column, ...]) -> Table:
    shown = runs.iloc[:MOST_RUNS]
    return Table(slug, title, _NOTE, columns, shown, left_out=len(runs) - len(shown))
