"""The tables with a line an instance, with its best known values, or a line a run."""

import pandas as pd

from instances.time_unit import ROUNDS, TimeUnit
from reports.table import Column, Table, columns, time_column
from schedules.evidence import STANDINGS

_NOTE = "UB: best checked schedule. LB: best believed bound. Both in {unit}. Gap = (UB − LB) / UB."
_LB_IS = "certified (proved in integers), by construction of the instance, or solver-reported only."
_OPT = (
    "known where two proofs show it that share neither model code nor argument; “one argument "
    "only” where two share the argument, “one proof only” where LB = UB rests on less."
)
#: The beginning of the slugs of the tables of runs.
RUNS = "runs"
#: Lines of the page's table of runs.
MOST_RUNS = 1000
_FIRST_RUNS = "The first runs by family, size, instance, method; evaluate.py --export writes all."


def instance_table(reference: pd.DataFrame, runs: pd.DataFrame, unit: TimeUnit) -> Table:
    """Return one line an instance, and batch time, of a unit of time, by family, size and name."""
    frame = reference[reference["sha"].str.startswith("unread ").eq(False)]
    frame = frame.sort_values(["family", "n", "instance", "sha"])
    frame = frame.assign(
        runs=runs.groupby("id").size().reindex(frame.index).fillna(0).astype(int),
        shown=frame["standing"].map(STANDINGS),
    ).reset_index()
    shown = (
        *columns("name", family="family", instance="instance"),
        *columns("count", n="n", memory="M"),
        time_column("upper", "UB", unit),
        Column("upper_by", "UB by", "name"),
        time_column("lower", "LB", unit),
        Column("lower_kind", "LB is", note=_LB_IS),
        Column("lower_by", "LB by", "name"),
        Column("gap", "gap", "share"),
        Column("shown", "OPT", "text", note=_OPT),
        Column("runs", "runs", "count"),
    )
    return Table("instances", "Instances", _NOTE.format(unit=unit.name), shown, frame)


def run_table(runs: pd.DataFrame, unit: TimeUnit) -> Table:
    """Return the first runs of a unit of time."""
    shown = runs.iloc[:MOST_RUNS]
    left_out = len(runs) - len(shown)
    return Table(RUNS, "Runs", _FIRST_RUNS, run_columns(unit), shown, left_out=left_out)


def run_columns(unit: TimeUnit) -> tuple[Column, ...]:
    """Return the columns of runs."""
    batch_time = () if unit is ROUNDS else columns("name", batch_time="batch time")
    return (
        *columns("name", instance="instance"),
        *batch_time,
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
