"""Readers of CSV: a header, then a request a row, all numbers but for dates."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from serving.traces.format_reader import LengthsReader, TraceRows
from serving.traces.trace_options import TraceOptions
from serving.traces.trace_report import SkipReason
from serving.traces.trace_stream import LONGEST_TEXT, TraceStream
from support.message_text import printable

_CHUNK = 20_000


@dataclass(frozen=True, kw_only=True)
class TableReader(LengthsReader):
    """Reads a CSV; with ``failures`` a row without output tokens is a failed request."""

    failures: bool = False

    def names(self, head: str) -> set[str]:
        """Return the columns of the header."""
        return set(header_of(head))

    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[TraceRows]:
        """Yield the rows; see :class:`serving.traces.format_reader.FormatReader`."""
        del options
        for numbers, columns in columns_of(stream, self.expects):
            for name, column in columns.items():
                if name in column:
                    stream.refuse("the header stands here again", numbers[column.index(name)])
            rows = self.rows_of(stream, numbers, columns)
            if self.failures:
                failed = (rows.outputs == 0) & (rows.reasons == SkipReason.NONE)
                rows.reasons[failed] = SkipReason.FAILED
            yield rows


def header_of(head: str) -> list[str]:
    """Return the columns in the first line of a file; none if it is no CSV."""
    line = head.partition("\n")[0].rstrip("\r")
    if line.lstrip()[:1] in ("{", "["):
        return []
    try:
        return [name.strip() for name in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return []


def columns_of(
    stream: TraceStream, needed: Sequence[str]
) -> Iterator[tuple[Sequence[int], dict[str, list[str]]]]:
    """Yield row numbers with the needed columns, without blank lines.

    A trace is refused if a column does not occur once, a row has other fields than the header, or a
    line break or the end of the file stands in quotation marks.
    """
    csv.field_size_limit(LONGEST_TEXT)
    table = csv.reader((line.decode() for line in stream.lines()), strict=True)
    rows = _rows(stream, table)
    header = next(rows, (1, []))[1]
    names = [name.strip() for name in header]
    for name in needed:
        if name not in names:
            found = printable(", ".join(names).strip(", ") or "a blank line", 160)
            stream.refuse(f"expected a column {name}, found {found}", 1)
        if names.count(name) > 1:
            stream.refuse(f"column {name} stands {names.count(name)} times", 1)
    while stretch := [*islice(rows, _CHUNK)]:
        for number, fields in stretch:
            if len(fields) not in (0, len(header)):
                stream.refuse(f"expected {len(header)} fields, found {len(fields)}", number)
        if filled := [each for each in stretch if each[1]]:
            numbers, lines = zip(*filled, strict=True)
            columns = [*zip(*lines, strict=True)]
            yield numbers, {name: [*columns[names.index(name)]] for name in needed}


def _rows(stream: TraceStream, table: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and the fields of each row."""
    first = 1
    try:
        for fields in table:
            if table.line_num > first:
                stream.refuse("expected a row a line, found a line break in quotation marks", first)
            yield first, fields
            first = table.line_num + 1
    except csv.Error as error:
        stream.refuse(f"expected a row of a CSV: {error}", first)
