"""A trace's text, line by line: of any size, otherwise as ``support.inputs`` says.

Nothing but the line at hand is kept.  Whatever is no text ends the reading with the row.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from instances.traces.report import TraceError
from support.inputs import GZIP, TORN, TORN_ERRORS, encoding_of, no_text, open_input
from support.text import printable

#: Characters of the beginning by which a format is told.
HEAD = 1 << 16
#: Most characters of a row of numbers, and of a row of text, a conversation say.
LONGEST_ROW, LONGEST_TEXT = 10**5, 1 << 24
#: Most bytes of a trace, and most characters of its text, which may come without an end.
LARGEST_TRACE = 10**11
#: The beginning of a first object, alone or in an array; a key in it, and its end.
_OPENING = re.compile(r"\s*(?:\[\s*)?\{")
_KEY = re.compile(r'[\s,]*"((?:[^"\\]|\\.)*)"\s*:\s*')
_CLOSING = re.compile(r"\s*\}")
_DECODER = json.JSONDecoder()


@lru_cache(1)
def first_object(head: str) -> tuple[dict[str, str | None], bool]:
    """Return the keys at the top of a JSON file's first object, and whether the beginning cuts it.

    Texts stand beside their keys, None beside others.  A file of kvopt's own ends with its schema,
    and there is nothing where the file is no JSON.
    """
    found: dict[str, str | None] = {}
    start = _OPENING.match(head)
    if start is None:
        return found, False
    place = start.end()
    while key := _KEY.match(head, place):
        found[key[1]] = None
        try:
            value, place = _DECODER.raw_decode(head, key.end())
        except (ValueError, RecursionError):
            return found, True
        if isinstance(value, str):
            found[key[1]] = value
            if key[1] == "schema" and value.startswith("kvopt."):
                return found, False
    return found, _CLOSING.match(head, place) is None


class _Again(io.RawIOBase):
    """A stream whose beginning was read before."""

    def __init__(self, start: bytes, rest: io.BufferedReader) -> None:
        self.start, self._rest = memoryview(start), rest

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer and return how many bytes: 0 at the end only."""
        if not self.start:
            return self._rest.readinto(buffer)
        count = min(len(buffer), len(self.start))
        buffer[:count], self.start = self.start[:count], self.start[count:]
        return count


class TraceStream:
    """The text of one trace, from its beginning to its end, once.

    Attributes
    ----------
    name
        What messages call it.
    head
        The beginning, ``HEAD`` bytes or as many as a first object of JSON needs, and what is no
        text in it replaced.
    row
        The row that is being read, from 1.

    Raises
    ------
    TraceError
        If there is no such file, it is a folder, cannot be read, or is empty.
    """

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        self.name = str(path) if name is None else name
        self.row = 1
        if os.path.isdir(path):
            raise TraceError(f"{printable(self.name)}: expected a trace, found a folder")
        try:
            file: Any = open_input(path, LARGEST_TRACE, buffering=HEAD)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise TraceError(f"{printable(self.name)}: cannot be read: {reason}") from None
        self._file, self._left = file, LARGEST_TRACE
        try:
            # Whoever fills a pipe may do so in pieces: each read waits for all that it asks for.
            file = _Again(file.read(len(GZIP)), file)
            if file.start == GZIP:
                file = io.BufferedReader(gzip.GzipFile(fileobj=io.BufferedReader(file)), HEAD)
            else:
                file = io.BufferedReader(file, HEAD)
            start: bytes = file.read(HEAD)
            encoding = encoding_of(start)
            if first_object(start.decode(encoding, "replace"))[1]:
                start += file.read(LONGEST_TEXT)
            file = io.BufferedReader(_Again(start, file), HEAD)
        except (OSError, *TORN_ERRORS) as error:
            self.close()
            self._unreadable(error)
        self.head = start.decode(encoding, "replace")
        if what := no_text(start) or ("" if self.head.strip() else "an empty file"):
            self.close()
            raise TraceError(f"{printable(self.name)}: expected a trace, found {what}")
        errors = "strict" if encoding == "utf-16" else "surrogateescape"
        self._text = io.TextIOWrapper(file, encoding, errors, newline="\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def refuse(self, reason: str) -> NoReturn:
        """Give up on the trace at the row that is being read.

        Raises
        ------
        TraceError
            Always, with file and row.
        """
        raise TraceError(f"{printable(self.name)}: row {self.row}: {reason}")

    def lines(self, longest: int = LONGEST_ROW) -> Iterator[str]:
        """Yield lines with their ends; ``row`` is the number of the one that was yielded last.

        Raises
        ------
        TraceError
            If a line is longer, is no UTF-8 or holds a NUL, or a gzip stream is torn.
        """
        while line := self._read(lambda: self._text.readline(longest + 1)):
            if len(line) > longest:
                self.refuse(f"expected at most {longest:,} characters, found more")
            self._check(line)
            yield line
            self.row += 1

    def pieces(self) -> Iterator[str]:
        """Yield the text in pieces of no meaning, for JSON that is one long line.

        Raises
        ------
        TraceError
            As :meth:`lines` does; the row is then that of whoever counts it.
        """
        while piece := self._read(lambda: self._text.read(1 << 20)):
            self._check(piece)
            yield piece

    def _read(self, read: Any) -> str:
        try:
            text = str(read())
        except UnicodeDecodeError as error:
            self.refuse(f"expected UTF-16, found {error.reason}")
        except (OSError, *TORN_ERRORS) as error:
            self._unreadable(error)
        self._left -= len(text)
        if self._left < 0:
            self.refuse(f"expected a trace of at most {LARGEST_TRACE:,} characters, found more")
        return text

    def _unreadable(self, error: Exception) -> NoReturn:
        if isinstance(error, TORN_ERRORS):
            self.refuse(TORN)
        self.refuse(f"cannot be read: {getattr(error, 'strerror', None) or error}")

    def _check(self, text: str) -> None:
        if "\0" in text:
            self.refuse("expected text, found a NUL byte")
        if text.isascii():
            return
        try:
            text.encode()
        except UnicodeEncodeError as error:
            # What is no UTF-8 was read as a surrogate, which holds the byte.
            self.refuse(f"expected UTF-8, found byte 0x{ord(text[error.start]) & 0xFF:02x}")
