"""The database of a store: an SQLite file or a PostgreSQL server, and its three tables."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from kvopt.runs.record import columns
from kvopt.store.location import StoreError

#: For another connection that writes, and for a server that does not answer.
SECONDS_TO_WAIT, _SECONDS_TO_CONNECT = 60, 10
_SECONDS_BETWEEN = 0.02
#: Who makes the tables, one process at a time; the number only has to be kvopt's own.
_LOCK = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(5272014091)"}
_TYPES: dict[type, Any] = {
    str: Text,
    int: BigInteger,
    float: sa.Float,
    list: sa.JSON,
    dict: sa.JSON,
}

METADATA = MetaData()
#: One row a run.
RUNS = Table(
    "runs",
    METADATA,
    *(
        Column(each.name, _TYPES[each.kind], primary_key=each.name == "key", nullable=each.optional)
        for each in columns()
    ),
    sa.Index("runs_of_instance", "instance_sha256"),
)
#: The instances as they were run, so that a store proves its rows by itself.
INSTANCES = Table(
    "instances",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
)
#: The checked schedule and the certificate of the bound, gzip'd JSON; rows are read as a whole.
PROOFS = Table(
    "proofs",
    METADATA,
    Column("key", String(64), ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("schedule", LargeBinary),
    Column("certificate", LargeBinary),
)


@contextmanager
def open_database(url: URL, name: str, *, readonly: bool, **options: Any) -> Iterator[sa.Engine]:
    """Give an engine of a database; make the tables, by one transaction, unless it is only read.

    Raises
    ------
    StoreError
        If its runs have other columns, it is an SQLite file of something else, or it is only read
        and has no runs.
    """
    file = url.database if url.drivername == "sqlite" else None
    opened = _only_read(file, options) if readonly and file else _open(url, options)
    with opened as engine:
        tables = _tables(engine, name)
        if readonly and RUNS.name not in tables:
            raise StoreError(f"{name}: no store of kvopt: it has no table {RUNS.name}")
        if not (readonly or set(METADATA.tables) <= tables):
            with engine.begin() as connection:
                connection.exec_driver_sql(_LOCK[connection.dialect.name])
                METADATA.create_all(connection)
        yield engine


@contextmanager
def _open(url: URL, options: dict[str, Any]) -> Iterator[sa.Engine]:
    if url.drivername == "sqlite":
        options = options | {"connect_args": {"timeout": SECONDS_TO_WAIT}}
    else:
        connecting = {"connect_timeout": _SECONDS_TO_CONNECT}
        options = options | {"pool_pre_ping": True, "connect_args": connecting}
    engine = sa.create_engine(url, **options)
    if url.drivername == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
    try:
        yield engine
    finally:
        engine.dispose()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Let readers go on beside the writer, and have a commit survive a crash of the machine."""
    try:
        log_ahead(connection)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        connection.close()
        raise


def log_ahead(connection: sqlite3.Connection) -> None:
    """Set the mode of the file; SQLite does not wait for another connection that just does so."""
    until = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_SECONDS_BETWEEN)


@contextmanager
def _only_read(file: str, options: dict[str, Any]) -> Iterator[sa.Engine]:
    """Give an engine that only reads a file, which other processes may be writing.

    Readers of a write-ahead log share a file beside it.  Where that cannot be made, no process
    writes either: the file is read as it is, or, with a log that was not yet merged into it, a copy
    of both.
    """
    path = Path(file).absolute()
    if not path.is_file():
        raise StoreError(f"{file}: there is no such store")
    log = path.with_name(f"{path.name}-wal")

    def opened(path: Path, **mode: str) -> sa.Engine:
        query = mode | {"uri": "true"}
        url = URL.create("sqlite", database=f"file:{quote(str(path))}", query=query)
        return sa.create_engine(url, connect_args={"timeout": SECONDS_TO_WAIT}, **options)

    with TemporaryDirectory(prefix="kvopt-store-") as folder:
        engine = opened(path, mode="ro")
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
        except OperationalError:
            engine.dispose()
            if log.exists() and log.stat().st_size:
                for each in (path, log):
                    shutil.copy(each, Path(folder) / each.name)
                engine = opened(Path(folder) / path.name)
            else:
                engine = opened(path, mode="ro", immutable="1")
        try:
            yield engine
        finally:
            engine.dispose()


def _tables(engine: sa.Engine, name: str) -> set[str]:
    """Return the names of the tables that are there; refuse those of something else."""
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        tables = set(inspector.get_table_names())
        if RUNS.name in tables:
            there = {column["name"] for column in inspector.get_columns(RUNS.name)}
            known = {column.name for column in columns()}
            for told, others in (("no", known - there), ("a column", there - known)):
                if others:
                    raise StoreError(
                        f"{name}: no store of this version of kvopt: its table {RUNS.name} has "
                        f"{told} {min(others)}"
                    )
        elif tables and engine.dialect.name == "sqlite":
            raise StoreError(f"{name}: no store of kvopt, but an SQLite file of something else")
    return tables
