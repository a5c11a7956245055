"""The rows of a night as they are committed: results first, then what depends on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from kvopt.suites import Suite

IDENTITY = (
    "section",
    "role",
    "reproducible",
    "instance",
    "instance_sha256",
    "family",
    "n",
    "memory",
    "known_optimum",
    "method",
    "seed",
    "time_limit",
    "threads",
)
RESULT = ("status", "ending", "tel", "lower_bound", "found_by", "bound_source", "detail")
#: What differs from machine to machine and from night to night.
TIMING = (
    "seconds",
    "solver_seconds",
    "start_seconds",
    "total_seconds",
    "peak_memory",
    "nodes",
    "relaxation",
    "solver",
    "git_commit",
    "python",
    "cpu",
    "cores",
    "ram_gb",
    "finished_utc",
)
COLUMNS = (*IDENTITY, *RESULT, *TIMING)
#: What one run is told by from night to night; the sources may change in between.
RUN = ("section", "instance", "instance_sha256", "method", "seed")

_TEXTS = (
    *("section", "role", "instance", "instance_sha256", "family", "method", "status", "ending"),
    *("found_by", "bound_source", "detail", "solver", "git_commit", "python", "cpu"),
    "finished_utc",
)
_WHOLE = (
    *("n", "memory", "known_optimum", "seed", "threads", "tel", "lower_bound", "nodes"),
    *("peak_memory", "cores"),
)


class RowsError(ValueError):
    """A file of nightly rows cannot be read; the message is one line."""


def nightly_rows(frame: pd.DataFrame, suite: Suite, sections: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of a suite with the columns ``COLUMNS``, in the suite's order.

    Parameters
    ----------
    frame
        As ``Store.rows`` returns them.
    sections
        The section of each run by its key; runs that are not in it are left out.
    """
    rows = frame[frame["key"].isin(list(sections))].copy()
    rows["section"] = rows["key"].map(dict(sections))
    by_name = {section.name: section for section in suite.sections}
    rows["role"] = [by_name[name].role for name in rows["section"]]
    rows["reproducible"] = [by_name[name].reproducible for name in rows["section"]]
    order = {name: position for position, name in enumerate(by_name)}
    rows["place"] = rows["section"].map(order)
    rows = rows.sort_values(["place", "instance", "instance_sha256", "method", "seed"])
    return _typed(rows.reset_index(drop=True))


def rows_text(rows: pd.DataFrame) -> str:
    """Return rows as CSV."""
    return rows.to_csv(index=False, lineterminator="\n")


def read_rows(path: Path) -> pd.DataFrame:
    """Read what :func:`rows_text` made.

    Raises
    ------
    RowsError
        If the file is missing, damaged, or lacks a column.
    """
    try:
        rows = pd.read_csv(path, keep_default_na=False, na_values={c: [""] for c in _numbers()})
        missing = [column for column in COLUMNS if column not in rows]
        if missing:
            raise RowsError(f"{path}: expected the column {missing[0]!r}, found none")
        return _typed(rows)
    except RowsError:
        raise
    except (OSError, ValueError, TypeError, pd.errors.ParserError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise RowsError(f"{path}: {reason}") from None


def _numbers() -> list[str]:
    return [column for column in COLUMNS if column not in _TEXTS and column != "reproducible"]


def _typed(rows: pd.DataFrame) -> pd.DataFrame:
    typed = rows.reindex(columns=list(COLUMNS))
    for column in COLUMNS:
        if column in _TEXTS:
            typed[column] = typed[column].astype(object).fillna("").astype(str)
        elif column == "reproducible":
            typed[column] = typed[column].astype(bool)
        elif column in _WHOLE:
            typed[column] = typed[column].astype("Int64")
        else:
            typed[column] = typed[column].astype("Float64")
    return typed
