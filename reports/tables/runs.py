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
    Column("peak_memory", "peak memory MB", "megabytes"),
    Column("nodes", "nodes", "count"),
)


def run_table(runs: pd.DataFrame) -> Table:
    """Return the first runs."""
    shown = runs.iloc[:MOST_RUNS]
    return Table("runs", "Runs", _NOTE, COLUMNS, shown, left_out=len(runs) - len(shown))
