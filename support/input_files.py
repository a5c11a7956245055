"""Files that a command reads: text of bounded size, packed or not.

Text is UTF-8, or UTF-16 with its byte order mark; gzip may pack it.  A named pipe or a device is
refused, since a reader may wait for ever.  A stream of the process is read and its bytes counted:
``/dev/stdin``, and the name for ``<(...)`` of a shell.
"""

import gzip
import io
import os
import re
import stat
import zlib
from pathlib import Path
from typing import BinaryIO

#: Most bytes of a file that is read as a whole: three million requests.
LARGEST = 250_000_000
#: Most bytes of a certificate, and of each other file of the registry, which has up to 420,000.
LARGEST_PROOF = 1 << 24

#: First bytes of a gzip stream, and of UTF-16 in both orders of its bytes.
GZIP, UTF_16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
#: Errors of a torn gzip stream, and their line.
TORN_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
TORN = "the gzip stream is torn here: the file is damaged or not complete"
#: Kinds of other files, by their first bytes.
_NO_TEXT = (
    (rb"PK\x03\x04", "a zip archive"),
    (rb"\xfd7zXZ\0", "an xz file"),
    (rb"\x28\xb5\x2f\xfd", "a zstd file"),
    (rb"BZh\d1AY&SY", "a bzip2 file"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (rb"\x1f\x8b", "gzip within gzip"),
    (rb".{257}ustar", "a tar archive"),
    (rb"PAR1", "a Parquet file"),
    (rb"ARROW1", "an Arrow file"),
    (rb"SQLite format 3\0", "an SQLite database"),
    (rb"%PDF-", "a PDF file"),
    (rb"(\xef\xbb\xbf)?\s*<(!doctype )?html\b", "an HTML page"),
    (rb"[^\0]\0[^\0]\0|\0[^\0]\0[^\0]", "UTF-16 without a byte order mark"),
    (rb"version https://git-lfs\.", "a pointer of Git LFS (git lfs pull fetches the file)"),
)


def open_input(path: str | Path, largest: int = LARGEST, buffering: int = -1) -> BinaryIO:
    """Open a file of so many bytes at most; the reader of a stream counts.

    Raises OSError if it cannot be opened; ValueError for a named pipe, a socket, a device, a NUL in
    the path, or a larger file.
    """
    if what := describe_special(path):
        raise ValueError(f"expected a file, found {what}")
    file: BinaryIO = open(path, "rb", buffering=buffering)  # noqa: SIM115
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and found.st_size > largest:
        file.close()
        raise ValueError(f"expected at most {largest:,} bytes, found {found.st_size:,}")
    return file


def read_whole(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return the bytes of a file or a stream; raise the errors of :func:`open_input`."""
    with open_input(path, largest) as file:
        pieces, left = [], largest + 1
        while left and (piece := file.read(min(left, 1 << 24))):
            pieces.append(piece)
            left -= len(piece)
    return _refuse_more(b"".join(pieces), largest)


def read_text(path: str | Path, largest: int = LARGEST, errors: str = "strict") -> str:
    """Return the text of a file or a stream; ``errors`` is the argument of ``bytes.decode``.

    Raises the errors of :func:`read_whole`, and ValueError for a torn gzip stream or another kind.
    """
    data = read_whole(path, largest)
    if data.startswith(GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = _refuse_more(file.read(largest + 1), largest)
        except TORN_ERRORS:
            raise ValueError(TORN) from None
    if what := describe_kind(data):
        raise ValueError(f"expected text, found {what}")
    encoding = encoding_of(data)
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise ValueError(f"expected text in {name}, found byte 0x{data[error.start]:02x}") from None


def _refuse_more(data: bytes, largest: int) -> bytes:
    if len(data) > largest:
        raise ValueError(f"expected at most {largest:,} bytes, found more")
    return data


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text by its first bytes; decoding drops a byte order mark."""
    return "utf-16" if start.startswith(UTF_16) else "utf-8-sig"


def describe_kind(start: bytes) -> str:
    """Return the kind of a file by its first bytes, if that is known and no text."""
    flags = re.IGNORECASE | re.DOTALL
    return next((what for sign, what in _NO_TEXT if re.match(sign, start[:1024], flags)), "")


def describe_special(path: str | Path) -> str:
    """Return the kind of a path that is no file, folder or stream of ours, else nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_stream(path):
        return ""
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def is_stream(path: str | Path) -> bool:
    """Return whether a path names an open file of a process, as /dev/stdout and /dev/fd/3 do."""
    whole = os.path.abspath(path)
    linked = os.path.islink(whole) and whole.startswith(("/dev/", "/proc/"))
    return linked or whole.startswith("/dev/fd/")
