"""The files that a store consists of."""

from __future__ import annotations

import contextlib
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

#: What SQLite keeps beside its file while it is open, and after a crash.
_BESIDE = ("", "-wal", "-shm", "-journal")


def store_files(location: str | Path) -> list[Path]:
    """Return the files of a store in one SQLite file; none of one on a server."""
    text = str(location)
    file: str | None = text
    if "://" in text:
        file = None
        with contextlib.suppress(ArgumentError, ValueError):
            url = make_url(text)
            file = url.database if url.get_backend_name() == "sqlite" else None
    return [Path(f"{file}{suffix}") for suffix in _BESIDE] if file else []
