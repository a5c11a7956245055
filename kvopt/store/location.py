"""Location of a store: the text after ``--store``, and the files that SQLite keeps there."""

import re
from pathlib import Path

from support.usage_errors import UsageError

#: A blank name, a URL or a connection string, and a name with a control character.
_NO_FILE = re.compile(r"\s*\Z|//|[^/]*[@=:]|.*://|[^\0-\x1f]*[\0-\x1f]", re.DOTALL)
#: SQLite's files while a store is open, and after a crash.
_SUFFIXES = ("", "-wal", "-shm", "-journal")


class StoreError(Exception):
    """The store cannot be opened, read or written; the message is one line."""


class LocationError(StoreError, UsageError):
    """The text names no store; it may hold a password and is not quoted."""


def store_path(location: str | Path) -> Path:
    """Return the path of a store's file, or raise a LocationError for a text that names none."""
    if _NO_FILE.match(str(location)):
        raise LocationError(
            "the store: expected a file, found no name of one; a file with @, = or : is ./NAME"
        )
    return Path(location)


def store_files(location: str | Path) -> list[Path]:
    """Return all files of a store."""
    return [Path(f"{store_path(location)}{suffix}") for suffix in _SUFFIXES]
