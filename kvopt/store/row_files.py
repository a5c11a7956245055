"""Rows as one CSV or Parquet file, and back; lists and dictionaries are JSON text there."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvopt.runs.row_columns import PROVED, RowColumn, row_columns
from kvopt.store.store import LARGEST, Store, checked
from support.input_files import read_whole
from support.json_files import write_bytes
from support.message_text import guard_cell, one_line, unguard_cell

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")


class ExportError(ValueError):
    """A file of rows cannot be written or read; the message is one line."""


def check_export(path: str | Path) -> None:
    """Raise an ExportError for a file with another suffix."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ExportError(f"{path}: expected a name with {' or '.join(SUFFIXES)}")


def export_rows(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write rows of :meth:`Store.rows` to a file, whole or not at all."""
    check_export(path)
    target = Path(path)
    flat = frame.drop(columns=PROVED, errors="ignore")
    for column in row_columns():
        if column.kind in (list, dict):
            flat[column.name] = [json.dumps(value) for value in flat[column.name]]
    parquet = target.suffix.lower() == ".parquet"
    content = flat.to_parquet(index=False) if parquet else frame_csv(flat).encode()
    try:
        write_bytes(target, content)
    except (OSError, ValueError) as error:
        raise ExportError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return target


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV, in which no text is a formula."""
    cells = frame.copy()
    for name in frame.select_dtypes(exclude=["number", "bool"]):
        cells[name] = [guard_cell(each) if isinstance(each, str) else each for each in frame[name]]
    return cells.to_csv(index=False, lineterminator="\n")


def read_rows(location: str | Path) -> pd.DataFrame:
    """Return the rows of an exported file, or else of a store, judged."""
    import pandas as pd  # half a second

    if not _is_file(location):
        from kvopt.store.proved_bounds import judge_rows  # evaluates certificates

        with closing(Store(location, readonly=True)) as store:
            return judge_rows(store.rows(), store)
    try:
        content = io.BytesIO(read_whole(location))
        if Path(location).suffix.lower() == ".parquet":
            frame = pd.read_parquet(content)
        else:
            # As text: a method called NA is not a missing value, a name 007 not a number.
            frame = pd.read_csv(content, dtype=str, keep_default_na=False).map(unguard_cell)
    except Exception as error:  # anything, for a damaged file
        raise ExportError(f"{location}: {one_line(error, 300)}") from None
    for column in row_columns():
        if column.name not in frame and column.needed:
            raise ExportError(f"{location}: expected a column {column.name}, found none")
    return _typed_rows(frame)


@contextmanager
def documents(location: str | None) -> Iterator[Store | None]:
    """Open the store of rows, for their schedules; None for an exported file."""
    if location is None or _is_file(location):
        yield None
        return
    with closing(Store(location, readonly=True)) as store:
        yield store


def _is_file(location: str | Path) -> bool:
    """Return whether a location is an exported file; a URL is none."""
    return "://" not in str(location) and Path(location).suffix.lower() in SUFFIXES


def _read_integer(value: Any) -> int:
    number = int(value)
    if abs(number) > LARGEST:
        raise ValueError(f"expected an integer of 64 bits, found {one_line(value, 60)}")
    return number


def _typed_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a row with their types; a missing one has its default."""
    import pandas as pd

    typed = {}
    try:
        for column in row_columns():
            there, default = column.name in frame, [column.default] * len(frame)
            values = _read_cells(column, frame[column.name]) if there else default
            typed[column.name] = pd.Series(values, index=frame.index, dtype=column.dtype)
    except Exception as error:  # as above
        raise ExportError(f"rows cannot be read: {one_line(error, 300)}") from None
    return pd.DataFrame(typed)


def _read_cells(column: RowColumn, cells: pd.Series) -> Any:
    import pandas as pd

    if column.kind is int:
        empty = cells.isna() | cells.eq("") if column.optional else [False] * len(cells)
        return [None if none else _read_integer(v) for v, none in zip(cells, empty, strict=True)]
    if column.kind is float:
        return pd.to_numeric(cells.replace("", None))
    if column.kind is str:
        return checked(column, list(cells))
    return checked(column, [json.loads(text) for text in cells])
