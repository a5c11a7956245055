"""Rows of a page: one for each run of its suite, as committed."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kvopt.runs.task import Task
from kvopt.store.row_files import read_rows as stored_rows
from kvopt.suites import Suite
from kvopt.sweeps.plan import plan
from reports.nightly.night_rows import read_rows as committed_rows
from reports.nightly.night_rows import typed
from support.usage_errors import UsageError

#: Key of a run; sources are no part of it, since its schedule was checked.
RUN = ["instance_sha256", "batch_time", "method", "seed", "time_limit", "threads"]
#: Statuses of failed runs, which say nothing about the method.
BROKEN = ("error", "crashed")
#: Old rows have no value in the last five.
COLUMNS = (
    *("section", "instance", "family", "n", "memory", *RUN, "status", "tel", "lower_bound"),
    *("bound_source", "detail", "evictions", "mean_tokens", "peak_tokens", "seconds"),
    *("git_commit", "finished_utc", "cpu", "cores", "python", "solver", "code"),
)


def suite_rows(suite: Suite, location: str | Path) -> pd.DataFrame:
    """Return the last row of each of a suite's runs from a store or an exported file, if any."""
    found = stored_rows(location).drop(columns="section")
    found = found[~found["status"].isin(BROKEN)]
    found = found.sort_values("finished_utc", kind="stable").drop_duplicates(RUN, keep="last")
    runs = [_run(task) for section in suite.sections for task in plan([section])]
    rows = typed(pd.DataFrame(runs).merge(found, on=RUN), COLUMNS)
    if len(found) and not len(rows):
        raise UsageError(f"{location}: no run has the suite's instances, methods and limits")
    return rows


def _run(task: Task) -> dict[str, object]:
    sha = "" if task.instance is None else task.instance.sha256
    asked = {name: getattr(task, name) for name in RUN if name != "instance_sha256"}
    return {"section": task.section, "instance_sha256": sha} | asked | {"method": task.method.text}


def join_rows(suite: Suite, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return old and new rows in the suite's order; a new row replaces an old one."""
    both = pd.concat([old, new], ignore_index=True) if len(old) else new
    both = both.drop_duplicates(["section", *RUN], keep="last")
    order = {section.name: place for place, section in enumerate(suite.sections)}
    both = both[both["section"].isin(list(order))]
    both = both.assign(place=both["section"].map(order))
    both = both.sort_values(["place", "n", "instance", "method", "seed"], kind="stable")
    return typed(both.reset_index(drop=True), COLUMNS)


def planned_runs(suite: Suite, sections: Iterable[str]) -> int:
    """Return the number of runs in sections of a suite, without reading instances."""
    return sum(
        len(section.sources)
        * sum(section.seeds if method.seeded else 1 for method in section.methods)
        for section in suite.sections
        if section.name in sections
    )


def read_rows(path: Path) -> pd.DataFrame:
    """Return committed rows, none without a file; RowsError if it is damaged."""
    if not path.exists():
        return typed(pd.DataFrame(columns=list(COLUMNS)), COLUMNS)
    return committed_rows(path, COLUMNS)
