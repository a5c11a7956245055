"""The SQLite file of a store: its three tables, made once and then read or written."""

import shutil
import sqlite3
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from kvopt.runs.row_columns import row_columns
from kvopt.store.location import StoreError

#: Seconds that a statement waits for another connection that writes.
SECONDS_TO_WAIT = 60
_SECONDS_BETWEEN = 0.02
_TYPES = {str: "TEXT", int: "BIGINT", float: "FLOAT"}
_RUNS = ", ".join(
    f"{each.name} {_TYPES.get(each.kind, 'JSON')}{'' if each.optional else ' NOT NULL'}"
    for each in row_columns()
)
#: One row a run; the instances as they were run; gzip'd JSON of schedules and certificates.
_TABLES = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS runs ({_RUNS}, PRIMARY KEY (key));
CREATE INDEX IF NOT EXISTS runs_of_instance ON runs (instance_sha256);
CREATE TABLE IF NOT EXISTS instances (
    sha256 VARCHAR(64) NOT NULL PRIMARY KEY, name TEXT NOT NULL, document BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS proofs (
    key VARCHAR(64) NOT NULL PRIMARY KEY REFERENCES runs (key) ON DELETE CASCADE,
    schedule BLOB, certificate BLOB
);
COMMIT;
"""


def open_database(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """Return a connection to a store, with its tables, or raise a StoreError."""
    connection = _open_readonly(path) if readonly else _connect(str(path))
    try:
        if not readonly:
            log_ahead(connection)
            connection.execute("PRAGMA synchronous=FULL")
        tables = _read_tables(connection, path)
        if readonly and "runs" not in tables:
            raise StoreError(f"{path}: no store of kvopt: it has no table runs")
        if not (readonly or {"runs", "instances", "proofs"} <= tables):
            connection.executescript(_TABLES)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        name, SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False, uri=uri
    )


def log_ahead(connection: sqlite3.Connection) -> None:
    """Set the mode of the file, also while another connection sets it."""
    until = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_SECONDS_BETWEEN)


def _open_readonly(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads a file, which other processes may write.

    On a read-only disk no process writes: the file is read as it is, or copied with its log.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no such store")
    address, log = f"file:{quote(str(path.absolute()))}?mode=ro", Path(f"{path}-wal")
    connection = _connect(address, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
        return connection
    except sqlite3.OperationalError:
        connection.close()
    if not (log.exists() and log.stat().st_size):
        return _connect(f"{address}&immutable=1", uri=True)
    connection = _connect(":memory:")
    with TemporaryDirectory(prefix="kvopt-store-") as folder:
        for each in (path, log):
            shutil.copy(each, folder)
        copied = _connect(str(Path(folder) / path.name))
        copied.backup(connection)
        copied.close()
    connection.execute("PRAGMA query_only=ON")
    return connection


def _read_tables(connection: sqlite3.Connection, path: Path) -> set[str]:
    """Return the names of the tables, or raise a StoreError for another program's."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "runs" in tables:
        there = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
        known = {column.name for column in row_columns()}
        for word, others in (("no", known - there), ("a column", there - known)):
            if others:
                raise StoreError(
                    f"{path}: no store of this version of kvopt: its table runs has "
                    f"{word} {min(others)}"
                )
    elif tables:
        raise StoreError(f"{path}: no store of kvopt, but an SQLite file of something else")
    return tables
