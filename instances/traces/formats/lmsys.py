"""LMSYS-Chat-1M: conversations as JSON lines, or as a CSV with a column of them.

Key or column ``conversation``: turns with ``role`` and ``content`` (the data set's card,
lmsys/lmsys-chat-1m).  The first question and its answer make a request.  In a CSV the conversation
stands as JSON, or as Python writes a list.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from instances.traces.reader import Rows, TokenCount
from instances.traces.records import ConversationReader, Exchange, counted, first_exchange
from instances.traces.stream import TraceStream
from instances.traces.table import header_of, read_table

_COLUMN = "conversation"
_CHUNK = 1000


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
        for numbers, columns in read_table(stream, [_COLUMN], broken=True, chunk=_CHUNK):
            turns = map(_turns, columns[_COLUMN])
            yield counted(numbers, [_exchange({_COLUMN: each}) for each in turns], count)


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
