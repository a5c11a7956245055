"""Readers of CSV: a header, then a request a row, all numbers but for dates."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from instances.traces.numbers import Unit
from instances.traces.reader import Reader, Rows, TokenCount, make_rows, read_times
from instances.traces.report import Reason
from instances.traces.stream import TraceStream
from support.text import one_line, printable

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are read at once, and most characters that they may have.
_CHUNK, _LARGEST_CHUNK = 20_000, 1 << 28
#: How pandas names the line of a file, or the row before the one, that it cannot read.
_PLACE = re.compile(r"(?:in line (\d+)|at row (\d+))")


@dataclass(frozen=True)
class TableReader(Reader):
    """Reads a CSV by the names of its columns; others than these may stand among them.

    Attributes
    ----------
    prompt, output
        Columns of the lengths (tokens).
    time
        Column of the arrivals; None where there is none.
    unit
        Of the arrivals.
    failures
        Whether a row without output tokens is a request that failed.
    """

    prompt: str
    output: str
    time: str | None = None
    unit: Unit | None = None
    without: tuple[str, ...] = ()
    failures: bool = False

    @property
    def expects(self) -> tuple[str, ...]:
        """The columns by which the format is known."""
        return (*([self.time] if self.time else []), self.prompt, self.output)

    @property
    def units(self) -> str:
        """The unit of the times."""
        return f"{self.time}: {self.unit.name}" if self.time and self.unit else ""

    def names(self, head: str) -> set[str]:
        """Return the columns of the header."""
        return set(header_of(head))

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield the rows; see :class:`instances.traces.reader.Reader`."""
        del count
        for numbers, columns in read_table(stream, self.expects, broken=False):
            for name, column in columns.items():
                if name in column:
                    stream.refuse("the header stands here again", numbers[column.index(name)])
            times = None
            if self.time and self.unit:
                times = read_times(stream, numbers, self.time, self.unit, columns[self.time])
            rows = make_rows(numbers, times, columns[self.prompt], columns[self.output])
            if self.failures:
                failed = (rows.outputs == 0) & (rows.reasons == Reason.NONE)
                rows.reasons[failed] = Reason.FAILED
            yield rows


def header_of(head: str) -> list[str]:
    """Return the columns that the first line of a file names; none if it is no CSV."""
    line = head.partition("\n")[0].rstrip("\r")
    if line.lstrip()[:1] in ("{", "["):
        return []
    try:
        return [name.strip() for name in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return []


def read_table(
    stream: TraceStream, needed: Sequence[str], *, broken: bool, chunk: int = _CHUNK
) -> Iterator[tuple[Sequence[int], dict[str, list[str]]]]:
    """Yield row numbers with the columns that are needed, without blank lines.

    A row has the number of its first line; ``broken`` lets text in quotation marks have several.

    Raises
    ------
    TraceError
        If a column is not there once, a row has more fields than the header, or a line break or the
        end of the file stands in quotation marks.
    """
    places: dict[str, int] = {}
    line = 1
    for frame in _frames(stream, chunk):
        breaks = _line_breaks(frame)
        if not broken and breaks.any():
            row = line + int(breaks.argmax())
            stream.refuse("expected a row a line, found a line break in quotation marks", row)
        numbers = line + np.arange(len(frame)) + np.concatenate([[0], breaks.cumsum()[:-1]])
        line = int(numbers[-1] + breaks[-1]) + 1
        filled = (frame != "").any(axis=1).to_numpy(copy=True)
        if not places:
            places = _find_columns(stream, list(frame.iloc[0]), needed)
            filled[0] = False
        kept = {name: frame[place][filled].tolist() for name, place in places.items()}
        if filled.any():
            yield numbers[filled].tolist(), kept


def _frames(stream: TraceStream, chunk: int) -> Iterator[pd.DataFrame]:
    """Yield a CSV in stretches of rows, as text; the header is the first row."""
    import pandas as pd  # only where there is a table: it takes half a second

    stream.allow(_LARGEST_CHUNK)
    settings: Any = {"dtype": str, "keep_default_na": False, "skip_blank_lines": False}
    try:
        for frame in pd.read_csv(stream, header=None, chunksize=chunk, index_col=False, **settings):
            yield frame
            stream.allow(_LARGEST_CHUNK)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        place = _PLACE.search(str(error))
        row = None if place is None else int(place[1] or int(place[2]) + 1)
        reason = one_line(error, 160).removeprefix("Error tokenizing data. C error: ")
        stream.refuse(f"expected a row of a CSV: {reason}", row)


def _line_breaks(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return how many line breaks the fields of each row hold."""
    counts = np.zeros(len(frame), np.int64)
    for name in frame:
        if frame[name].str.contains("\n", regex=False).any():
            counts += frame[name].str.count("\n").to_numpy(np.int64)
    return counts


def _find_columns(
    stream: TraceStream, header: Sequence[str], needed: Sequence[str]
) -> dict[str, int]:
    """Return the places of columns, or refuse the trace where one is not there once."""
    names = [name.strip() for name in header]
    for name in needed:
        if name not in names:
            found = ", ".join(names).strip(", ") or "a blank line"
            stream.refuse(f"expected a column {name}, found {printable(found, 160)}", 1)
        if names.count(name) > 1:
            stream.refuse(f"column {name} stands {names.count(name)} times", 1)
    return {name: names.index(name) for name in needed}
