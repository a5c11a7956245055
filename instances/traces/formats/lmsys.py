"""LMSYS-Chat-1M: conversations as JSON lines, or as a CSV with a column of them.

Key or column ``conversation``: turns with ``role`` and ``content`` (the data set's card,
lmsys/lmsys-chat-1m).  The first question and its answer make a request.  In a CSV the conversation
stands as JSON, or as Python writes a list.
"""

from __future__ import annotations

import ast
import csv
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from instances.traces.reader import Rows, TokenCount
from instances.traces.records import ConversationReader, Exchange, counted, first_exchange
from instances.traces.stream import LONGEST_TEXT, TraceStream
from instances.traces.table import header_of, read_header

_COLUMN = "conversation"
_STRETCH = 1000


def _exchange(record: dict[str, Any]) -> Exchange | None:
    return first_exchange(record.get(_COLUMN), "content", "role", ("user", "assistant"))


@dataclass(frozen=True)
class LmsysReader(ConversationReader):
    """Reads both forms; a CSV is told by its header."""

    def names(self, head: str) -> set[str]:
        """Return the keys, or the column where it is there."""
        return super().names(head) | (set(header_of(head)) & {_COLUMN})

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield the rows; see :class:`instances.traces.reader.Reader`."""
        if not header_of(stream.head):
            yield from super().rows(stream, count)
            return
        # The module's limit is that of all its readers; it is raised, never lowered.
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT))
        table = csv.reader(stream.lines(LONGEST_TEXT), strict=True)
        place = read_header(stream, table, [_COLUMN]).index(_COLUMN)
        records = _records(stream, table, place)
        while stretch := list(islice(records, _STRETCH)):
            exchanges = [_exchange({_COLUMN: turns}) for _, turns in stretch]
            yield counted([row for row, _ in stretch], exchanges, count)


def _records(stream: TraceStream, table: Any, place: int) -> Iterator[tuple[int, Any]]:
    """Yield conversations with the rows in which they begin."""
    first = table.line_num + 1
    try:
        for fields in table:
            if fields and len(fields) <= place:
                stream.row = first
                stream.refuse(f"expected at least {place + 1} fields, found {len(fields)}")
            if fields:
                yield first, _turns(fields[place])
            first = table.line_num + 1
    except csv.Error as error:
        stream.row = first
        stream.refuse(f"expected a row of a CSV: {error}")


def _turns(text: str) -> Any:
    with warnings.catch_warnings():
        # Of escapes that Python does not know, in what may be anybody's words.
        warnings.simplefilter("ignore")
        for read in (json.loads, ast.literal_eval):
            try:
                return read(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return None


READER = LmsysReader((_COLUMN,), _exchange)
