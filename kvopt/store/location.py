"""Location of a store: the texts after ``--store``, and those that never become a file."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from support.usage import UsageError

_EXPECTED = "the store: expected a file or postgresql://user@host/database"
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")
_PASSWORDS = ("password", "sslpassword")
#: The beginning of a URL or a connection string that is badly written.
_LIKE_SERVER = re.compile(r"//|[^/]*[@=:]")
#: What SQLite keeps beside its file while it is open, and after a crash.
_BESIDE = ("", "-wal", "-shm", "-journal")


class StoreError(Exception):
    """The store cannot be opened, read or written; the message is one line."""


class LocationError(StoreError, UsageError):
    """The text names no store; it may hold a password and is not quoted."""


def read_location(location: str | Path) -> URL:
    """Return the URL of an SQLite file or of a PostgreSQL database.

    Raises
    ------
    LocationError
        If it is neither, or a URL that holds a password.
    """
    text = str(location)
    if "://" in text:
        return _read_url(text)
    if not text.strip():
        raise LocationError(f"{_EXPECTED}, found an empty name")
    if _LIKE_SERVER.match(text):
        raise LocationError(f"{_EXPECTED}, found neither; a file of such a name is ./NAME")
    if any(ord(character) < ord(" ") for character in text):
        raise LocationError(f"{_EXPECTED}, found a control character in the name")
    return URL.create("sqlite", database=text)


def store_files(location: str | Path) -> list[Path]:
    """Return the files of a store in one SQLite file; none of one on a server."""
    url = read_location(location)
    file = url.database if url.get_backend_name() == "sqlite" else None
    return [Path(f"{file}{suffix}") for suffix in _BESIDE] if file else []


def _read_url(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise LocationError(f"{_EXPECTED}, found another URL") from None
    if url.password is not None or any(name.lower() in _PASSWORDS for name in url.query):
        where = "the file that PGPASSFILE names"
        raise LocationError(f"{_EXPECTED}, found a password, which belongs in {where}")
    if url.drivername == "sqlite" and url.database and not url.query:
        return read_location(url.database)
    if url.drivername not in _POSTGRESQL or ("@" in text and url.username is None):
        raise LocationError(f"{_EXPECTED}, found another URL")
    return url.set(drivername="postgresql+psycopg")
