"""The runs themselves, as many as a page can carry."""

from __future__ import annotations

import pandas as pd

from instances.time_unit import ROUNDS, TimeUnit
from reports.table import Column, Table, time_column

#: What the slugs of the tables of runs begin with.
RUNS = "runs"
#: Lines of the page's table of runs.
MOST_RUNS = 1000
_NOTE = (
    "The first runs by family, size, instance and method. The store holds all of them: "
    "evaluate.py --export writes them as Parquet or CSV."
)


def run_table(runs: pd.DataFrame, unit: TimeUnit) -> Table:
    """Return the first runs of a unit of time."""
    shown = runs.iloc[:MOST_RUNS]
    left_out = len(runs) - len(shown)
    return Table(RUNS, "Runs", _NOTE, run_columns(unit), shown, left_out=left_out)


def run_columns(unit: TimeUnit) -> tuple[Column, ...]:
    """Return the columns of runs."""
    columns = (
        Column("instance", "instance", "name"),
        Column("batch_time", "batch time", "name"),
        Column("label", "method", "name"),
        Column("seed", "seed", "count"),
        Column("status", "status", "name"),
        time_column("tel", "TEL", unit),
        time_column("lower_bound", "LB", unit),
        Column("gap_opt", "gap to OPT", "share"),
        Column("seconds", "seconds", "seconds"),
        Column("peak_memory", "peak memory, MB", "megabytes"),
        Column("nodes", "nodes", "count"),
    )
    return tuple(each for each in columns if each.key != "batch_time" or unit is not ROUNDS)
