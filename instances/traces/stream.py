"""A trace's text, line by line: gzip or not, UTF-8 with a mark or without, of any size.

Nothing but the line at hand is kept.  Whatever is no text ends the reading with the row.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from instances.telling import printable
from instances.traces.report import TraceError

#: Characters of the beginning by which a format is told.
HEAD = 1 << 16
#: Most characters of a row of numbers, and of a row of text, a conversation say.
LONGEST_ROW, LONGEST_TEXT = 10**5, 1 << 24
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"
_TORN = (EOFError, gzip.BadGzipFile, zlib.error)


class TraceStream:
    """The text of one trace, from its beginning to its end, once.

    Attributes
    ----------
    name
        What messages call it.
    head
        The beginning, up to ``HEAD`` bytes, what is no UTF-8 in it replaced.
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
        if Path(path).is_dir():
            raise TraceError(f"{printable(self.name)}: expected a trace, found a folder")
        try:
            file: Any = open(path, "rb", buffering=HEAD)  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise TraceError(f"{printable(self.name)}: cannot be read: {reason}") from None
        self._file = file
        if file.peek(2)[:2] == _GZIP:
            # Buffered, so that it can be peeked into.
            file = io.BufferedReader(gzip.GzipFile(fileobj=file), HEAD)
        try:
            start: bytes = file.peek(HEAD)[:HEAD]
        except (OSError, *_TORN) as error:
            self.close()
            self._unreadable(error)
        if not start.strip(b"\xef\xbb\xbf \t\r\n"):
            self.close()
            raise TraceError(f"{printable(self.name)}: expected a trace, found an empty file")
        self.head = start.removeprefix(_MARK).decode("utf-8", "replace")
        self._text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="\n")

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
            return str(read())
        except (OSError, *_TORN) as error:
            self._unreadable(error)

    def _unreadable(self, error: Exception) -> NoReturn:
        if isinstance(error, _TORN):
            self.refuse("the gzip stream is torn here: the file is damaged or not complete")
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
