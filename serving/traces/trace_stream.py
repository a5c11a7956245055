"""A trace's text as a stream of UTF-8, packed or not, of any size."""

import codecs
import gzip
import io
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import ijson

from instances.instance_names import trace_file
from serving.traces.trace_report import TraceError
from support.input_files import GZIP, TORN, TORN_ERRORS, describe_kind, encoding_of, open_input
from support.message_text import printable

#: Bytes of the beginning that shows the format, and bytes that are read at once.
HEAD = 1 << 16
#: Most characters of a line of JSON or of an entry of an array.
LONGEST_TEXT = 1 << 24
#: Python's floats that are no numbers, which JSON lacks.
_NO_NUMBER = re.compile(r"(?<=[:,\[\s])(?:NaN|-?Infinity)(?=[,}\]\s])")
LARGEST_TRACE = 10**11


@lru_cache(1)
def first_object(head: str) -> tuple[dict[str, str | None], bool]:
    """Return the top keys of a JSON's first object, with texts, and if the beginning cuts it."""
    found: dict[str, str | None] = {}
    depth, top, key = 0, 1, ""
    try:
        # The row's reader refuses what is no number, with its key.
        text = io.BytesIO(_NO_NUMBER.sub("null", head).encode("utf-8", "replace"))
        # Without floats the library crashes on integers of thousands of digits.
        for event, value in ijson.basic_parse(text, use_float=True):
            if not depth and event == "start_array":
                top = 2
            depth += event.startswith("start_") - event.startswith("end_")
            if event == "end_map" and depth == top - 1:
                return found, False
            if depth == top and event == "map_key":
                key = value
                found[key] = None
            elif depth == top and event == "string" and found:
                found[key] = value
                if key == "schema" and value.startswith("kvopt."):
                    return found, False
    except ijson.JSONError:
        return found, bool(found)
    return found, False


class TraceStream(io.RawIOBase):
    """The bytes of one trace in UTF-8, from its beginning to its end, once.

    ``label`` names it in messages; ``head`` is the beginning, with the first object of JSON, and
    what is no text replaced; ``row`` is the current row, from 1.

    Raises :class:`TraceError` if the file cannot be read, is empty or larger.
    """

    def __init__(self, path: str | Path, label: str | None = None, largest: int = LARGEST_TRACE):
        self.label = str(path) if label is None else label
        self.row = 1
        self.path = trace_file(path)
        if os.path.isdir(self.path):
            raise TraceError(f"{printable(self.label)}: expected a trace, found a folder")
        try:
            file: Any = open_input(self.path, largest, buffering=HEAD)
            start = file.peek(1)[:1]
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise TraceError(f"{printable(self.label)}: cannot be read: {reason}") from None
        self._opened = self._file = file
        # No text begins with the first byte of gzip.
        if start == GZIP[:1]:
            self._file = io.BufferedReader(gzip.GzipFile(fileobj=file), HEAD)
        self._start = self._read(HEAD)
        encoding = encoding_of(self._start)
        if first_object(self._start.decode(encoding, "replace"))[1]:
            self._start += self._read(LONGEST_TEXT)
        self.head = self._start.decode(encoding, "replace")
        if what := describe_kind(self._start) or ("" if self.head.strip() else "an empty file"):
            self.close()
            raise TraceError(f"{printable(self.label)}: expected a trace, found {what}")
        self._encoding = encoding.removesuffix("-sig").upper()
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._lines, self._ready = 0, b""
        self.allow(LARGEST_TRACE)

    def close(self) -> None:
        """Close the file."""
        self._opened.close()
        super().close()

    def refuse(self, reason: str, row: int | None = None) -> NoReturn:
        """Raise a :class:`TraceError` with file and row, by default the current one."""
        raise TraceError(f"{printable(self.label)}: row {row or self.row}: {reason}")

    def allow(self, characters: int) -> None:
        """Let so many characters follow until the next call."""
        self._allowed = self._left = characters

    def lines(self) -> Iterator[bytes]:
        """Yield lines; ``row`` is the number of the last one."""
        text = io.BufferedReader(self)
        while line := text.readline(LONGEST_TEXT + 1):
            if len(line) > LONGEST_TEXT:
                self.refuse(f"expected at most {LONGEST_TEXT:,} bytes, found more")
            yield line
            self.row += 1

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer and return the count of bytes, 0 at the end, or raise TraceError."""
        if not self._ready:
            self._ready = self._text().encode()
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _text(self) -> str:
        """Return the next piece of the text, empty at the end."""
        text, data = "", b"?"
        while data and not text:
            data, self._start = self._start or self._read(HEAD), b""
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                byte = f"byte 0x{error.object[error.start]:02x}"
                found = byte if self._encoding == "UTF-8" else error.reason
                self._refuse_text(f"{self._encoding}, found {found}", error.object[: error.start])
        if "\0" in text:
            self._refuse_text("text, found a NUL byte", text.partition("\0")[0].encode())
        self._lines += text.count("\n")
        self._left -= len(text)
        if self._left < 0:
            self.refuse(f"expected at most {self._allowed:,} characters in a piece, found more")
        return text

    def _refuse_text(self, expected: str, before: bytes) -> NoReturn:
        self.refuse(f"expected {expected}", self._lines + before.count(b"\n") + 1)

    def _read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end only, also of a slow pipe."""
        try:
            return bytes(self._file.read(size))
        except (OSError, *TORN_ERRORS) as error:
            self._opened.close()
            unread = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            self.refuse(TORN if isinstance(error, TORN_ERRORS) else unread)
