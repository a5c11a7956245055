"""The files that a store consists of."""

from __future__ import annotations

from pathlib import Path

from kvopt.store.location import StoreError, read_location

#: What SQLite keeps beside its file while it is open, and after a crash.
_BESIDE = ("", "-wal", "-shm", "-journal")


def store_files(location: str | Path) -> list[Path]:
    """Return the files of a store in one SQLite file; none of one on a server or nowhere."""
    try:
        url = read_location(location)
    except StoreError:
        return []
    file = url.database if url.get_backend_name() == "sqlite" else None
    return [Path(f"{file}{suffix}") for suffix in _BESIDE] if file else []
