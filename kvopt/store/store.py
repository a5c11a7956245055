"""Opens a store, puts finished runs in and takes them out again."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from pydantic import StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from instances.files import instance_document
from kvopt.runs.record import Column, columns
from kvopt.runs.task import Finished
from kvopt.store.database import INSTANCES, PROOFS, RUNS, SECONDS_TO_WAIT, open_database
from kvopt.store.location import StoreError, read_location
from schedules.files import ScheduleFileError, parse_schedule, schedule_document
from support.inputs import LARGEST as LARGEST_FILE
from support.inputs import LARGEST_CERTIFICATE
from support.text import one_line

if TYPE_CHECKING:
    import pandas as pd

#: How long a lock of another process is waited for without a word.
_SECONDS_UNTOLD = 5
#: Both databases hold 64-bit integers; a method may claim any.
LARGEST = 2**63 - 1
#: Keys of one query, of rows and of schedules, which may be large; both databases take more.
_PORTION, _SCHEDULES = 10_000, 100


class _LockedError(StoreError):
    """Another process writes, or keeps others from writing."""


class Store:
    """Runs by key, in one SQLite file (write-ahead log) or on a PostgreSQL server.

    Every run is put in by one transaction: it is there whole or not at all, whatever kills the
    process.  ``location`` is a path, or ``postgresql://user@host/database``; a ``readonly`` file
    may be on a read-only disk, and none is made.

    Raises
    ------
    StoreError
        If it cannot be opened, is none, or is one of another version.
    """

    def __init__(self, location: str | Path, *, readonly: bool = False) -> None:
        self.readonly = readonly
        url = read_location(location)
        self._is_file = url.drivername == "sqlite"
        self.name = url.database if self._is_file and url.database else str(url)
        with self._telling("opened"), ExitStack() as undo:
            opened = open_database(url, self.name, readonly=readonly, json_deserializer=_loads)
            self._engine = undo.enter_context(opened)
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Let go of the file or the server."""
        self._undo.close()

    def put(self, *runs: Finished, tell: Callable[[str], object] | None = None) -> None:
        """Store runs with their instances and proofs, each in place of an earlier one of its key.

        It is one transaction.  ``tell`` is called once with a line where another process locks the
        file for some seconds; then the runs wait as long as that takes, else for a minute.

        Raises
        ------
        StoreError
            If the disk is full or the server is gone; nothing of the runs is stored then.
        """
        began = time.monotonic()
        told = False
        while True:
            try:
                return self._put(runs)
            except _LockedError:
                waited = time.monotonic() - began
                if tell is None and waited > SECONDS_TO_WAIT:
                    raise
                if tell is not None and not told and waited > _SECONDS_UNTOLD:
                    told = True
                    tell(
                        f"{self.name}: locked by another process; what has finished is kept and "
                        "stored when that lets go of it"
                    )

    def _put(self, runs: Sequence[Finished]) -> None:
        """Try it for a second, for as long as SQLite would let no signal through."""
        # Runs first, then what hangs on them, each by key, in every writer: no deadlock.
        ordered = sorted(runs, key=lambda finished: finished.record.key)
        with self._telling("written"), self._engine.begin() as connection:
            self._wait_for_locks(connection, 1)
            # Not asdict, which copies the traces entry by entry.
            _put(connection, RUNS, [_storable(vars(finished.record)) for finished in ordered])
            instances = [_instance(each) for each in ordered if each.instance is not None]
            instances.sort(key=itemgetter("sha256"))
            _put(connection, INSTANCES, instances, replace=False)
            _put(connection, PROOFS, [_proof(finished) for finished in ordered])
            self._wait_for_locks(connection, SECONDS_TO_WAIT)

    def _wait_for_locks(self, connection: Connection, seconds: int) -> None:
        if self._is_file:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * seconds}")

    def statuses(self) -> dict[tuple[str, str], str]:
        """Return the status of every stored run, by its key and the digest of its sources."""
        return {(key, code): status for key, code, status in self.select("key", "code", "status")}

    def select(self, *names: str, **equal: str) -> list[tuple[Any, ...]]:
        """Return some columns of the runs, in the order of the keys; ``equal`` texts by column."""
        query = sa.select(*(RUNS.c[name] for name in names)).order_by(RUNS.c.key)
        query = query.where(*(RUNS.c[name] == text for name, text in equal.items()))
        lists = [each for each in columns() if each.texts and each.name in names]
        with self._telling("read"), self._engine.connect() as connection:
            rows = [tuple(row) for row in connection.execute(query)]
            for column in lists:
                checked(column, [row[names.index(column.name)] for row in rows])
            return rows

    def rows(self, keys: Collection[str] | None = None, *, traces: bool = True) -> pd.DataFrame:
        """Return the runs as a table, one row each, in an order that depends on them alone.

        The columns are those of ``kvopt.runs.record``, with their types.  Nothing is judged:
        :func:`kvopt.store.belief.judged` adds what integers prove of each bound.
        """
        import pandas as pd  # half a second, which a sweep need not wait for

        with self._telling("read"), self._engine.connect() as connection:
            wanted = [column for column in columns() if traces or not column.trace]
            query = sa.select(*(RUNS.c[column.name] for column in wanted))
            parts = [query]
            if keys is not None:
                parts = [query.where(RUNS.c.key.in_(each)) for each in _portions(keys)]
            # Not pd.read_sql, which takes a column with gaps through floats: of integers beyond
            # 2**53 the last digits would be lost, and the largest could not be read at all.
            read = [row for part in parts for row in connection.execute(part)]
            cells = list(zip(*read, strict=True)) or [()] * len(wanted)
            frame = pd.DataFrame(
                {
                    column.name: pd.Series(checked(column, list(values)), dtype=column.dtype)
                    for column, values in zip(wanted, cells, strict=True)
                }
            )
            order = ["family", "n", "instance", "method", "seed", "key"]
            return frame.sort_values(order, ignore_index=True)

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, None without one."""
        return dict(self.schedules([key])).get(key)

    def schedules(self, keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield key and schedule document of those runs that have one."""
        what = "the schedule of run"
        for each in _portions(keys, _SCHEDULES):
            for key, document in self._documents(PROOFS.c.schedule, each, what):
                try:
                    parse_schedule(document)
                except ScheduleFileError as error:
                    raise self._damaged(f"{what} {key[:12]}", error) from None
                yield key, document

    def certificate(self, key: str) -> dict[str, Any] | None:
        """Return the certificate of a run's lower bound, None without one."""
        what = "the certificate of run"
        found = self._documents(PROOFS.c.certificate, [key], what, LARGEST_CERTIFICATE)
        return dict(found).get(key)

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance that was run, None if there was no such run."""
        return dict(self._documents(INSTANCES.c.document, [sha256], "the instance")).get(sha256)

    def _documents(
        self, column: sa.Column[Any], keys: list[str], what: str, largest: int = LARGEST_FILE
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield key and document of those rows that have one."""
        (key,) = column.table.primary_key.columns
        query = sa.select(key, column).where(key.in_(keys), column.is_not(None))
        with self._telling("read"), self._engine.connect() as connection:
            for name, packed in connection.execute(query):
                try:
                    document = _unpack(packed, largest)
                except _DAMAGED as error:
                    raise self._damaged(f"{what} {name[:12]}", error) from None
                yield name, document

    def _damaged(self, what: str, error: Exception) -> StoreError:
        return StoreError(f"{self.name}: {what} is damaged: {one_line(error, 200)}")

    @contextmanager
    def _telling(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (
            # A column of a damaged file may hold anything, whatever its type says.
            *(SQLAlchemyError, OSError, ModuleNotFoundError),
            *(ValueError, TypeError, OverflowError, RecursionError),
        ) as error:
            reason = getattr(error, "orig", None) or error
            line = " ".join(str(reason).split())[:300]
            # Extended codes have the plain one in their last byte.
            code = getattr(reason, "sqlite_errorcode", 0) & 0xFF
            kind = _LockedError if code == sqlite3.SQLITE_BUSY else StoreError
            raise kind(f"{self.name}: cannot be {verb}: {line}") from None


def _portions(keys: Collection[str], size: int = _PORTION) -> list[list[str]]:
    every = list(dict.fromkeys(keys))
    return [every[place : place + size] for place in range(0, len(every), size)]


def _put(
    connection: Connection, table: sa.Table, rows: list[dict[str, Any]], replace: bool = True
) -> None:
    """Insert rows; one of the same key is replaced or kept, also if another is just writing it."""
    if rows:
        connection.execute(_insertion(connection.dialect.name, table, replace), rows)


@cache  # two milliseconds to make
def _insertion(dialect: str, table: sa.Table, replace: bool) -> sa.Insert:
    insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    others = {c.name: insert.excluded[c.name] for c in table.c if not c.primary_key}
    statement: sa.Insert = (
        insert.on_conflict_do_update(index_elements=table.primary_key, set_=others)
        if replace
        else insert.on_conflict_do_nothing()
    )
    return statement


def _instance(finished: Finished) -> dict[str, Any]:
    instance = finished.instance
    return {
        "sha256": finished.record.instance_sha256,
        "name": _storable(finished.record.instance),
        "document": _pack(None if instance is None else instance_document(instance)),
    }


def _proof(finished: Finished) -> dict[str, Any]:
    schedule = finished.schedule
    return {
        "key": finished.record.key,
        "schedule": _pack(None if schedule is None else schedule_document(schedule)),
        "certificate": _pack(finished.certificate),
    }


def _storable(value: Any) -> Any:
    """Return what both databases can hold, which is less than Python's text and integers."""
    if isinstance(value, str):
        # PostgreSQL has no NUL, neither has the halves of a pair that stand for undecodable bytes.
        return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return max(-LARGEST, min(value, LARGEST))
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(each) for key, each in value.items()}
    return value


def checked(column: Column, values: list[Any]) -> list[Any]:
    """Return texts, lists and objects of a column, which come from a file that may hold anything.

    Raises
    ------
    ValueError
        If one is of another kind, none of a closed list, or a trace is no list of pairs of numbers;
        numbers are left to the type of the column.
    """
    if column.kind not in (str, list, dict):
        return values
    kind: Any = column.kind
    expected = f"a JSON {kind.__name__}"
    if column.trace:
        number = StrictInt | StrictFloat
        kind, expected = list[tuple[number, number]], "a trace of pairs (seconds, value)"
    elif column.texts:
        kind, expected = Literal[column.texts], f"one of {', '.join(column.texts)}"
    elif kind is str:
        kind, expected = StrictStr, "text"
    try:
        return _values_of(kind).validate_python(values)
    except ValidationError as error:
        found = one_line(values[int(error.errors()[0]["loc"][0])], 60)
        raise ValueError(f"{column.name}: expected {expected}, found {found}") from None


@cache
def _values_of(kind: Any) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[kind])


def _loads(text: Any) -> Any:
    if not isinstance(text, str | bytes):  # SQLite lets a number stand there
        raise ValueError(f"expected JSON, found {one_line(text, 60)}")
    text = text if isinstance(text, str) else text.decode()  # SQLite's driver, PostgreSQL's
    # Versions and commands are the same in thousands of rows; traces, lists of lists, are not.
    return json.loads(text) if text.startswith(("[[", "[]")) else _loads_often(text)


@lru_cache(maxsize=4096)
def _loads_often(text: str) -> Any:
    return json.loads(text)


def _pack(document: dict[str, Any] | None) -> bytes | None:
    # mtime 0: equal documents give equal bytes.
    return None if document is None else gzip.compress(json.dumps(document).encode(), mtime=0)


#: What a packed document that is damaged raises.
_DAMAGED = (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError)


def _unpack(packed: bytes, largest: int) -> dict[str, Any]:
    gzipped = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text = gzipped.decompress(packed, largest)
    if not gzipped.eof:
        raise ValueError(f"expected a gzip file of at most {largest:,} bytes, whole")
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError(f"expected an object, found {type(document).__name__}")
    return document
