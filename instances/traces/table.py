"""Readers of CSV: a header, then a request a row, all numbers but for dates."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from instances.traces.numbers import TimeError, Unit
from instances.traces.reader import Reader, Rows, TokenCount, make_rows
from instances.traces.report import Reason
from instances.traces.stream import TraceStream
from support.text import printable

#: Rows that are read at once.
_STRETCH = 20_000


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
        """What the times are in."""
        return f"{self.time}: {self.unit.name}" if self.time and self.unit else ""

    def names(self, head: str) -> set[str]:
        """Return the columns of the header."""
        return set(header_of(head))

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield the rows; see :class:`instances.traces.reader.Reader`."""
        del count
        table = csv.reader(stream.lines(), strict=True)
        header = read_header(stream, table, self.expects)
        places = {name: header.index(name) for name in self.expects}
        while True:
            before = table.line_num
            stretch = _stretch(stream, table)
            if not stretch:
                return
            if table.line_num - before != len(stretch):
                broken = (any("\n" in field for field in fields) for fields in stretch)
                stream.row = before + 1 + list(broken).index(True)
                stream.refuse("expected a row a line, found a line break in quotation marks")
            numbers: Sequence[int] = range(before + 1, before + 1 + len(stretch))
            numbers, stretch = _full(stream, numbers, stretch, len(header))
            if stretch:
                columns = list(zip(*stretch, strict=True))
                yield self._read(
                    stream, numbers, {name: columns[at] for name, at in places.items()}
                )

    def _read(
        self, stream: TraceStream, numbers: Sequence[int], columns: dict[str, tuple[str, ...]]
    ) -> Rows:
        for name, column in columns.items():
            if name in column:
                stream.row = numbers[column.index(name)]
                stream.refuse("the header stands here again")
        times = None
        if self.time and self.unit:
            times = read_times(stream, numbers, self.time, self.unit, columns[self.time])
        rows = make_rows(numbers, times, columns[self.prompt], columns[self.output])
        if self.failures:
            failed = (rows.outputs == 0) & (rows.reasons == Reason.NONE)
            rows.reasons[failed] = Reason.FAILED
        return rows


def header_of(head: str) -> list[str]:
    """Return the columns that the first line of a file names; none if it is no CSV."""
    line = head.partition("\n")[0].rstrip("\r")
    if line.lstrip()[:1] in ("{", "["):
        return []
    try:
        return [name.strip() for name in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return []


def read_header(stream: TraceStream, table: Any, needed: Sequence[str]) -> list[str]:
    """Return the columns of a CSV.

    Raises
    ------
    TraceError
        If the first row is none, or a column that is needed is not there once.
    """
    try:
        header = [name.strip() for name in next(table, [])]
    except csv.Error as error:
        stream.refuse(f"expected a header of a CSV: {error}")
    for name in needed:
        if name not in header:
            found = ", ".join(header) or "a blank line"
            stream.refuse(f"expected a column {name}, found {printable(found, 160)}")
        if header.count(name) > 1:
            stream.refuse(f"column {name} stands {header.count(name)} times")
    return header


def read_times(
    stream: TraceStream, numbers: Sequence[int], name: str, unit: Unit, values: Sequence[Any]
) -> Sequence[int]:
    """Return times in nanoseconds, or refuse the row of the first that is none."""
    try:
        return unit.read(values)
    except TimeError as error:
        stream.row = numbers[error.position]
        found = printable(repr(values[error.position]), 80)
        stream.refuse(f"{name}: expected {error}, found {found}")


def _stretch(stream: TraceStream, table: Any) -> list[list[str]]:
    before, rows = table.line_num, []
    try:
        for fields in islice(table, _STRETCH):
            rows.append(fields)
    except csv.Error as error:
        # Where it begins, not where the reader has given up.
        stream.row = before + len(rows) + 1
        stream.refuse(f"expected a row of a CSV: {error}")
    return rows


def _full(
    stream: TraceStream, numbers: Sequence[int], stretch: list[list[str]], width: int
) -> tuple[Sequence[int], list[list[str]]]:
    """Return the rows without blank lines, each with a field a column."""
    sizes = set(map(len, stretch))
    if sizes == {width}:
        return numbers, stretch
    for number, fields in zip(numbers, stretch, strict=True):
        if len(fields) not in (0, width):
            stream.row = number
            stream.refuse(f"expected {width} fields, found {len(fields)}")
    left = [(number, fields) for number, fields in zip(numbers, stretch, strict=True) if fields]
    return [number for number, _ in left], [fields for _, fields in left]
