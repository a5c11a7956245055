"""The rows of a night as they are committed: results first, then what depends on the machine."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kvopt.runs.row_columns import row_columns
from kvopt.suites import Suite
from support.input_files import read_whole

_DECLARED = {column.name: column for column in row_columns()}
_KEPT = {name: column for name, column in _DECLARED.items() if not column.apart}
#: Columns that differ from machine to machine and from night to night.
TIMING = tuple(name for name, column in _KEPT.items() if column.part in ("took", "origin"))
#: The digest of the method's sources, which the oldest rows lack.
_CODE = "code"
#: The section's role stands next to its name.
COLUMNS = ("section", "role", "reproducible", *(name for name in _KEPT if name != "section"), _CODE)
#: Columns of the files of rows; the rows of the suite ``predictions`` have some of runs in seconds.
FILES = {"rows.csv": COLUMNS, "predictions.csv": (*COLUMNS, "batch_time", "p99_ttft_ms", "goodput")}
#: The key of one run from night to night; the sources may change in between.
RUN = ("section", "instance", "instance_sha256", "method", "seed")


class RowsError(ValueError):
    """A file of nightly rows cannot be read; the message is one line."""


def nightly_rows(
    frame: pd.DataFrame, suite: Suite, sections: Mapping[str, str], named: Sequence[str] = COLUMNS
) -> pd.DataFrame:
    """Return the rows of a suite with these columns, in the suite's order.

    ``sections`` has the section of each run by its key; other runs are left out.
    """
    rows = frame[frame["key"].isin(list(sections))].copy()
    rows["section"] = rows["key"].map(dict(sections))
    by_name = {section.name: section for section in suite.sections}
    rows["role"] = [by_name[name].role for name in rows["section"]]
    rows["reproducible"] = [by_name[name].reproducible for name in rows["section"]]
    rows["place"] = rows["section"].map({name: at for at, name in enumerate(by_name)})
    rows = rows.sort_values(["place", "instance", "instance_sha256", "method", "seed"])
    return typed(rows.reset_index(drop=True), named)


def rows_text(rows: pd.DataFrame) -> str:
    """Return rows as CSV."""
    return rows.to_csv(index=False, lineterminator="\n")


def read_rows(path: Path, named: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """Read a file of :func:`rows_text` with these columns.

    Raises RowsError if the file is missing, damaged, or lacks a column.
    """
    try:
        text = io.BytesIO(read_whole(path))
        whole = {name: "Int64" for name, each in _DECLARED.items() if each.kind is int}
        empty = {name: [""] for name, each in _DECLARED.items() if each.kind is not str}
        rows = pd.read_csv(text, dtype=whole, keep_default_na=False, na_values=empty)
        named = [each for each in named if each != _CODE or each in rows]
        lacking = [column for column in named if column not in rows]
        if lacking:
            raise ValueError(f"expected the column {lacking[0]!r}, found none")
        return typed(rows, named)
    except (OSError, ValueError, TypeError, pd.errors.ParserError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise RowsError(f"{path}: {reason}") from None


def typed(rows: pd.DataFrame, named: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """Return rows with these columns alone, in this order, with their types."""
    table = rows.reindex(columns=list(named))
    for column in named:
        declared = _DECLARED.get(column)
        if column == "reproducible":
            table[column] = table[column].astype(bool)
        elif declared is None or declared.kind is str:
            table[column] = table[column].astype(object).fillna("").astype(str)
        else:
            table[column] = table[column].astype("Int64" if declared.kind is int else "Float64")
    return table
