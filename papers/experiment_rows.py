"""The rows of a page, of its suite's runs, as they are committed next to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kvopt.runs.task import Task
from kvopt.store.export import read_rows as stored_rows
from kvopt.suites import Suite
from kvopt.sweeps.plan import plan
from reports.nightly.rows import read_rows as committed_rows
from reports.nightly.rows import typed

#: The key of one run; the sources may have changed since, as its schedule was checked.
RUN = ["instance_sha256", "batch_time", "method", "seed", "time_limit", "threads"]
#: Statuses of runs that are to be run again.
BROKEN = ("error", "crashed")
#: The oldest rows do not know the last five.
COLUMNS = (
    *("section", "instance", "family", "n", "memory", *RUN, "status", "tel", "lower_bound"),
    *("bound_source", "detail", "evictions", "mean_tokens", "peak_tokens", "seconds"),
    *("git_commit", "finished_utc", "cpu", "cores", "python", "solver", "code"),
)


def suite_rows(suite: Suite, location: str | Path) -> pd.DataFrame:
    """Return the rows of a suite's runs that a store or an exported file holds, with ``COLUMNS``.

    Of a run that was repeated the last row counts; one that broke (``BROKEN``) says nothing of its
    method and is left out.
    """
    found = stored_rows(location).drop(columns="section")
    found = found[~found["status"].isin(BROKEN)]
    found = found.sort_values("finished_utc", kind="stable").drop_duplicates(RUN, keep="last")
    runs = [_run(task) for section in suite.sections for task in plan([section])]
    return typed(pd.DataFrame(runs).merge(found, on=RUN), COLUMNS)


def _run(task: Task) -> dict[str, object]:
    sha = "" if task.instance is None else task.instance.sha256
    asked = {name: getattr(task, name) for name in RUN if name != "instance_sha256"}
    return {"section": task.section, "instance_sha256": sha} | asked | {"method": task.method.text}


def joined(suite: Suite, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return old and new rows of a suite in its order; of a run in both the new row counts."""
    both = pd.concat([old, new], ignore_index=True) if len(old) else new
    both = both.drop_duplicates(["section", *RUN], keep="last")
    order = {section.name: place for place, section in enumerate(suite.sections)}
    both = both[both["section"].isin(list(order))]
    both = both.assign(place=both["section"].map(order))
    both = both.sort_values(["place", "n", "instance", "method", "seed"], kind="stable")
    return typed(both.reset_index(drop=True), COLUMNS)


def planned_runs(suite: Suite, sections: Iterable[str]) -> int:
    """Return how many runs sections of a suite are; instances are not read for it."""
    return sum(
        len(section.sources)
        * sum(section.seeds if method.seeded else 1 for method in section.methods)
        for section in suite.sections
        if section.name in sections
    )


def read_rows(path: Path) -> pd.DataFrame:
    """Return committed rows; none where there is no file. Raises RowsError if it is damaged."""
    if not path.exists():
        return typed(pd.DataFrame(columns=list(COLUMNS)), COLUMNS)
    return committed_rows(path, COLUMNS)
