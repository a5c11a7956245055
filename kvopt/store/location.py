"""Where a store is: what a user may write after ``--store``, and what never becomes a file."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from support.masking import HIDDEN, is_no_path, mask_location, mask_url

_EXPECTED = "expected a file or postgresql://user@host/database"
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")
#: What SQLite keeps beside its file while it is open, and after a crash.
_BESIDE = ("", "-wal", "-shm", "-journal")


class StoreError(Exception):
    """The store cannot be opened, read or written; the message is one line."""


def read_location(location: str | Path) -> URL:
    """Return the URL of an SQLite file or of a PostgreSQL database.

    Raises
    ------
    StoreError
        If it is neither; what is not surely free of a password is not quoted.
    """
    text = str(location)
    if not text.strip():
        raise StoreError(f"{_EXPECTED}, found an empty name")
    if "://" in text:
        return _read_url(text)
    if text.startswith(":memory:"):
        raise StoreError(f"{_EXPECTED}, found :memory:, which is lost when the command ends")
    if is_no_path(text):
        raise StoreError(
            f"{_EXPECTED}, found a connection string (NAME=... or NAME:...); "
            "a file of such a name is ./NAME"
        )
    if any(ord(character) < ord(" ") for character in text):
        raise StoreError(f"{_EXPECTED}, found a control character in the name")
    return URL.create("sqlite", database=text)


def told_location(location: str | Path) -> str:
    """Return where a store is as it can be shown; see :func:`support.masking.mask_location`."""
    text = str(location)
    try:
        read_location(text)
    except StoreError:
        return HIDDEN
    return mask_location(text)


def store_files(location: str | Path) -> list[Path]:
    """Return the files of a store in one SQLite file; none of one on a server or nowhere."""
    try:
        url = read_location(location)
    except StoreError:
        return []
    file = url.database if url.get_backend_name() == "sqlite" else None
    return [Path(f"{file}{suffix}") for suffix in _BESIDE] if file else []


def hide_secrets(line: str, url: URL) -> str:
    """Return a driver's message without the password and the query of a URL."""
    secrets = [str(url.password or "")]
    for value in url.query.values():
        secrets += [value] if isinstance(value, str) else list(value)
    for secret in filter(None, secrets):
        line = line.replace(secret, HIDDEN)
    return line


def _read_url(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    # The reasons would quote pieces of a password in which an @ stands as it is.
    if url is None or text.count("@") > 1 or ("@" in text and url.username is None):
        raise StoreError(
            f"{mask_url(text)}: expected postgresql://user@host/database, with @ : / and spaces in "
            "a password written as %40 %3A %2F %20"
        )
    if url.drivername == "sqlite":
        if url.query or not url.database:
            raise StoreError(f"{mask_url(text)}: {_EXPECTED}")
        return read_location(url.database)
    if url.drivername not in _POSTGRESQL:
        raise StoreError(f"{mask_url(text)}: {_EXPECTED}")
    return url.set(drivername="postgresql+psycopg")
