"""Ends of the runs, and the runs to look at."""

from typing import get_args

import pandas as pd

from reports.prepared_rows import BAD
from reports.table import Column, Table, columns
from schedules.evidence import METHOD_FAILED
from schedules.schedule import Status

_NOTE = "All stored runs that no later run of the same instance, method, seed and limits replaces."
_NOTE_BAD = (
    "Runs that crashed, hit the memory limit or an error, or that the checker refused; they may "
    "have a schedule."
)
#: Lines of the list of failures.
MOST_FAILURES = 200


def status_counts(runs: pd.DataFrame) -> Table:
    """Return the number of runs of each method per status."""
    counts = runs.groupby(["label", "status"]).size().unstack(fill_value=0)
    known = [status for status in get_args(Status) if status in counts]
    others = sorted(set(counts.columns) - set(known))
    titles = {status: status.replace("_", " ") for status in known} | dict.fromkeys(others, "other")
    frame = counts[list(titles)].set_axis([f"status_{k}" for k in range(len(titles))], axis=1)
    shown = (
        Column("label", "method", "name"),
        Column("runs", "runs", "count"),
        *columns("count", **{f"status_{k}": title for k, title in enumerate(titles.values())}),
    )
    frame = frame.assign(runs=counts.sum(axis=1)).reset_index()
    return Table("statuses", "How the runs ended", _NOTE, shown, frame)


def failures(runs: pd.DataFrame) -> Table:
    """Return the runs with a status of ``rows.BAD``, without memory, or whose method failed."""
    failed = runs["detail"].str.contains(METHOD_FAILED, regex=False).fillna(False)
    bad = runs[runs["status"].isin(BAD) | failed | runs["ending"].eq("memory_limit")]
    shown = (
        *columns("name", instance="instance", label="method"),
        Column("seed", "seed", "count"),
        Column("status", "status", "name"),
        Column("seconds", "seconds", "seconds"),
        Column("detail", "reason", "name"),
    )
    first = bad.iloc[:MOST_FAILURES]
    return Table("failures", "Failures", _NOTE_BAD, shown, first, left_out=len(bad) - len(first))
