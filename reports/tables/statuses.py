"""Ends of the runs, the runs to look at, and their machines and versions."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import get_args

import pandas as pd

from reports.rows import BAD
from reports.table import Column, Table, columns
from schedules.model import Status

_NOTE = "All stored runs that no later run of the same instance, method, seed and limits replaces."
_NOTE_BAD = (
    "Runs that crashed, hit the memory limit, were refused by the checker or ended in an error, "
    "with what is known of the reason."
)
_NOTE_MACHINES = (
    "Seconds of different lines are not comparable. Results with a time limit depend on the "
    "machine and on what else it did."
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
    """Return the runs with a status of ``rows.BAD``."""
    bad = runs[runs["status"].isin(BAD)]
    shown = (
        *columns("name", instance="instance", label="method"),
        Column("seed", "seed", "count"),
        Column("status", "status", "name"),
        Column("seconds", "seconds", "seconds"),
        Column("detail", "reason", "name"),
    )
    first = bad.iloc[:MOST_FAILURES]
    return Table("failures", "Failures", _NOTE_BAD, shown, first, left_out=len(bad) - len(first))


def machines(runs: pd.DataFrame) -> Table:
    """Return the number of runs per machine, Python, versions and commit."""
    keys = ["cpu", "cores", "ram_gb", "platform", "python", "libraries", "git_commit"]
    told = runs.assign(
        platform=runs["platform"].map(_system),
        libraries=[
            _libraries(each if isinstance(each, str) else json.dumps(each, default=str))
            for each in runs["versions"]
        ],
        git_commit=runs["git_commit"].str[:12],
    )
    frame = told.groupby(keys, dropna=False, sort=True).size().rename("runs").reset_index()
    shown = (
        Column("runs", "runs", "count"),
        Column("cpu", "CPU", "name"),
        Column("cores", "cores", "count"),
        Column("ram_gb", "RAM, GB", "seconds"),
        *columns("name", platform="platform", python="Python", libraries="libraries"),
        Column("git_commit", "commit", "name"),
    )
    return Table("machines", "Machines and versions", _NOTE_MACHINES, shown, frame)


def _system(platform: str) -> str:
    """Leave out the release of the kernel, which tells more of a machine than of its results."""
    parts = re.fullmatch(r"(\w+)-.+-(\w+)-with-(.+)", platform)
    return " ".join(parts.groups()) if parts else platform


@cache
def _libraries(versions: str) -> str:
    """Return the versions of a row, each by its name; what is no object stands as it is."""
    try:
        read = json.loads(versions)
    except ValueError:
        return versions
    named = sorted(read.items()) if isinstance(read, dict) else []
    return ", ".join(f"{name} {version}" for name, version in named)
