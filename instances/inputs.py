"""Files that a command reads: of bounded size, and taken note of, so that no output replaces one.

Whatever a user names is opened here.  A device or a pipe has no size, so what comes out of it is
counted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

#: Most bytes of a file that is read as a whole; fifteen million requests have so many.
LARGEST = 10**9

_read: ContextVar[list[Path] | None] = ContextVar("_read", default=None)


class TooLargeError(ValueError):
    """A file is larger than any that is read; the message is one line."""


@contextmanager
def taking_note() -> Iterator[None]:
    """Take note of what is read within, for :func:`files_read`; commands are run so."""
    token = _read.set([])
    try:
        yield
    finally:
        _read.reset(token)


def note(path: str | Path) -> None:
    """Take note that a file is read, now or by a process of the command."""
    noted = _read.get()
    if noted is not None:
        noted.append(Path(path))


def files_read() -> list[Path]:
    """Return what this command has read so far, each file once."""
    return list(dict.fromkeys(_read.get() or ()))


def open_input(path: str | Path, largest: int = LARGEST, buffering: int = -1) -> BinaryIO:
    """Open a file to be read.

    Parameters
    ----------
    largest
        Bytes that a file may have; what has no size is to be counted by whoever reads it.

    Raises
    ------
    OSError
        If it cannot be opened.
    TooLargeError
        If it is larger.
    ValueError
        If the path holds a NUL.
    """
    note(path)
    file: BinaryIO = open(path, "rb", buffering=buffering)  # noqa: SIM115
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and found.st_size > largest:
        file.close()
        raise TooLargeError(f"expected at most {largest:,} bytes, found {found.st_size:,}")
    return file


def read_whole(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return what a file, a device or a pipe holds.

    Raises
    ------
    OSError, TooLargeError, ValueError
        As :func:`open_input` says, and where more than ``largest`` bytes come.
    """
    with open_input(path, largest) as file:
        pieces, left = [], largest + 1
        while left and (piece := file.read(min(left, 1 << 24))):
            pieces.append(piece)
            left -= len(piece)
    if not left:
        raise TooLargeError(f"expected at most {largest:,} bytes, found more")
    return b"".join(pieces)
