"""Files that a command reads: of bounded size, and taken note of, so that no output replaces one.

Whatever a user names is opened here, if it is a file.  Whoever opens a named pipe or a device waits
for as long as nobody writes, so these are refused; a stream that the process was given is not
(``/dev/stdin``, and what ``<(...)`` of a shell names).  A stream has no size, so what comes out of
it is counted.
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
#: Most bytes of the JSON of a certificate; those of the library have up to 180,000.
LARGEST_CERTIFICATE = 1 << 24

_read: ContextVar[list[Path] | None] = ContextVar("_read", default=None)


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
    """Open a file to be read, of so many bytes at most.

    What has no size is to be counted by whoever reads it.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is a named pipe, a socket or a device, or larger; or the path holds a NUL.
    """
    note(path)
    if what := no_file(path):
        raise ValueError(f"expected a file, found {what}")
    file: BinaryIO = open(path, "rb", buffering=buffering)  # noqa: SIM115
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and found.st_size > largest:
        file.close()
        raise ValueError(f"expected at most {largest:,} bytes, found {found.st_size:,}")
    return file


def read_whole(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return what a file or a stream of the process holds.

    Raises
    ------
    OSError, ValueError
        As :func:`open_input` says, and where more than ``largest`` bytes come.
    """
    with open_input(path, largest) as file:
        pieces, left = [], largest + 1
        while left and (piece := file.read(min(left, 1 << 24))):
            pieces.append(piece)
            left -= len(piece)
    if not left:
        raise ValueError(f"expected at most {largest:,} bytes, found more")
    return b"".join(pieces)


def no_file(path: str | Path) -> str:
    """Return what stands at a path that is neither a file nor a stream of the process.

    Empty for a file, a folder, a stream of the process, and where nothing is.

    Raises
    ------
    ValueError
        If the path holds a NUL.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_stream(path):
        return ""
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def is_stream(path: str | Path) -> bool:
    """Tell whether a path names an open file of a process, as /dev/stdout and /dev/fd/3 do."""
    whole = os.path.abspath(path)
    linked = os.path.islink(whole) and whole.startswith(("/dev/", "/proc/"))
    return linked or whole.startswith("/dev/fd/")
