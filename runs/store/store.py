"""Opens a store, puts finished runs in and takes them out again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from runs.store.tables import INSTANCES, METADATA, PROOFS, RUNS
from runs.sweep.task import Finished

#: Statuses that ``--rerun-failed`` runs again.
FAILED = ("no_solution", "time_limit", "memory_limit", "crashed", "refused", "error")
_SECONDS_TO_WAIT = 60


class StoreError(Exception):
    """The store cannot be opened, read or written; the message is one line."""


class Store:
    """Runs by key, in one SQLite file (write-ahead log) or on a PostgreSQL server.

    Every run is put in by one transaction, so that it is there whole or not at all, whatever
    kills the process.

    Parameters
    ----------
    location
        Path of an SQLite file, or a URL that SQLAlchemy takes, as in
        ``postgresql+psycopg://user@host/database``.

    Raises
    ------
    StoreError
        If it cannot be opened.
    """

    def __init__(self, location: str | Path) -> None:
        self._url = _read_url(location)
        self.name = self._url.render_as_string(hide_password=True)
        with self._telling("opened"):
            self._engine = sa.create_engine(self._url, **_options(self._url))
            if self._url.get_backend_name() == "sqlite":
                sa.event.listen(self._engine, "connect", _prepare_sqlite)
            METADATA.create_all(self._engine)

    def close(self) -> None:
        """Let go of the file or the server."""
        self._engine.dispose()

    def put(self, finished: Finished) -> None:
        """Store one run with its instance and its proofs, in place of an earlier one of its key.

        Raises
        ------
        StoreError
            If the disk is full or the server is gone; nothing of the run is stored then.
        """
        record = finished.record
        with self._telling("written"), self._engine.begin() as connection:
            connection.execute(RUNS.delete().where(RUNS.c.key == record.key))
            connection.execute(RUNS.insert(), asdict(record))
            if finished.instance is not None:
                _insert_once(
                    connection,
                    INSTANCES,
                    sha256=record.instance_sha256,
                    name=record.instance,
                    document=_pack(finished.instance),
                )
            if finished.schedule is not None or finished.certificate is not None:
                connection.execute(
                    PROOFS.insert(),
                    {
                        "key": record.key,
                        "schedule": _pack(finished.schedule),
                        "certificate": _pack(finished.certificate),
                    },
                )

    def statuses(self) -> dict[str, str]:
        """Return the status of every stored run by key."""
        with self._telling("read"), self._engine.connect() as connection:
            rows = connection.execute(sa.select(RUNS.c.key, RUNS.c.status))
            return {row.key: row.status for row in rows}

    def rows(self, keys: Collection[str] | None = None) -> pd.DataFrame:
        """Return the runs as a table, one row each, in an order that depends on them alone.

        The columns are the fields of ``Record``; ``incumbents``, ``bounds``, ``versions`` and
        ``command`` hold lists and dictionaries.
        """
        with self._telling("read"), self._engine.connect() as connection:
            frame = pd.read_sql(sa.select(RUNS), connection)
        if keys is not None:
            frame = frame[frame["key"].isin(list(keys))]
        for column in ("known_optimum", "tel", "lower_bound", "nodes"):
            frame[column] = frame[column].astype("Int64")
        order = ["family", "n", "instance", "method", "seed", "key"]
        return frame.sort_values(order, ignore_index=True)

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, None without one."""
        return self._proof(key, "schedule")

    def certificate(self, key: str) -> dict[str, Any] | None:
        """Return the certificate of a run's lower bound, None without one."""
        return self._proof(key, "certificate")

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance that was run, None if there was no such run."""
        query = sa.select(INSTANCES.c.document).where(INSTANCES.c.sha256 == sha256)
        with self._telling("read"), self._engine.connect() as connection:
            return _unpack(connection.execute(query).scalar())

    def _proof(self, key: str, column: str) -> dict[str, Any] | None:
        query = sa.select(PROOFS.c[column]).where(PROOFS.c.key == key)
        with self._telling("read"), self._engine.connect() as connection:
            return _unpack(connection.execute(query).scalar())

    @contextmanager
    def _telling(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError, ModuleNotFoundError) as error:
            reason = getattr(error, "orig", None) or error
            line = " ".join(str(reason).split())[:300]
            raise StoreError(f"{self.name}: cannot be {verb}: {line}") from None


def _read_url(location: str | Path) -> URL:
    text = str(location)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError) as error:
        raise StoreError(f"{text}: expected a file or a database URL: {error}") from None
    return url


def _options(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": _SECONDS_TO_WAIT}}
    return {"pool_pre_ping": True}


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Let readers go on beside the writer, and have a commit survive a crash of the machine."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _insert_once(connection: Connection, table: sa.Table, **values: Any) -> None:
    column = next(iter(table.primary_key.columns))
    known = connection.execute(sa.select(column).where(column == values[column.name])).first()
    if known is None:
        connection.execute(table.insert(), values)


def _pack(document: dict[str, Any] | None) -> bytes | None:
    # mtime 0: equal documents give equal bytes.
    return None if document is None else gzip.compress(json.dumps(document).encode(), mtime=0)


def _unpack(packed: bytes | None) -> dict[str, Any] | None:
    if packed is None:
        return None
    document: dict[str, Any] = json.loads(gzip.decompress(packed))
    return document
