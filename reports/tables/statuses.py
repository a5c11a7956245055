"""How the runs ended: counts per method and status, and the runs that someone should look at."""

from __future__ import annotations

from typing import get_args

import pandas as pd

from reports.rows import BAD
from reports.table import Column, Table
from schedules.model import Status

_NOTE = "All stored runs that no later run of the same instance, method, seed and limits replaces."
_NOTE_BAD = (
    "Runs that crashed, hit the memory limit, were refused by the checker or ended in an error, "
    "with what is known of the reason."
)
#: Lines of the list of failures.
MOST_FAILURES = 200


def status_counts(runs: pd.DataFrame) -> Table:
    """Return the number of runs of each method per status."""
    counts = runs.groupby(["label", "status"]).size().unstack(fill_value=0)
    known = [status for status in get_args(Status) if status in counts]
    others = sorted(set(counts.columns) - set(known))
    frame = counts[[*known, *others]].set_axis(
        [f"status_{k}" for k in range(len(known) + len(others))], axis=1
    )
    frame["runs"] = counts.sum(axis=1)
    columns = (
        Column("label", "method", "name"),
        Column("runs", "runs", "count"),
        *(
            Column(f"status_{k}", status.replace("_", " ") if status in known else "other", "count")
            for k, status in enumerate([*known, *others])
        ),
    )
    return Table("statuses", "How the runs ended", _NOTE, columns, frame.reset_index())


def failures(runs: pd.DataFrame) -> Table:
    """Return the runs with a status of ``rows.BAD``."""
    bad = runs[runs["status"].isin(BAD)]
    columns = (
        Column("instance", "instance", "name"),
        Column("label", "method", "name"),
        Column("seed", "seed", "count"),
        Column("status", "status", "name"),
        Column("seconds", "seconds", "seconds"),
        Column("detail", "reason", "name"),
    )
    shown = bad.iloc[:MOST_FAILURES]
    return Table("failures", "Failures", _NOTE_BAD, columns, shown, left_out=len(bad) - len(shown))
