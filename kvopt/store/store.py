"""Opens a store, puts finished runs in and takes them out again."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import SQLAlchemyError

from instances.files import instance_document
from kvopt.runs.record import Column, columns
from kvopt.runs.task import Finished
from kvopt.store.location import StoreError, read_location
from kvopt.store.readonly import SECONDS_TO_WAIT, open_readonly
from kvopt.store.tables import INSTANCES, PROOFS, RUNS, prepare
from schedules.files import ScheduleFileError, parse_schedule, schedule_document
from support.inputs import LARGEST as LARGEST_FILE
from support.inputs import LARGEST_CERTIFICATE
from support.text import one_line

if TYPE_CHECKING:
    import pandas as pd

_SECONDS_BETWEEN = 0.02
_SECONDS_TO_CONNECT = 10
#: How long a lock of another process is waited for without a word.
_SECONDS_UNTOLD = 5
#: Both databases hold 64-bit integers; a method may claim any.
LARGEST = 2**63 - 1
#: The texts that may stand in a column, where not all may.
_LISTS = {column.name: column.texts for column in columns() if column.texts}
#: Keys of one query, of rows and of schedules, which may be large; both databases take more.
_PORTION, _SCHEDULES = 10_000, 100


class _LockedError(StoreError):
    """Another process writes, or keeps others from writing."""


class Store:
    """Runs by key, in one SQLite file (write-ahead log) or on a PostgreSQL server.

    Every run is put in by one transaction, so that it is there whole or not at all, whatever
    kills the process.

    Parameters
    ----------
    location
        Path of an SQLite file, or ``postgresql://user@host/database``.
    readonly
        Nothing is written, so that the file may be on a read-only disk, and none is made.

    Raises
    ------
    StoreError
        If it cannot be opened, is none, or is one of another version.
    """

    def __init__(self, location: str | Path, *, readonly: bool = False) -> None:
        self.readonly = readonly
        self._url = read_location(location)
        self._file = self._url.database if self._url.drivername == "sqlite" else None
        self.name = self._file or str(self._url)
        with self._telling("opened"), ExitStack() as undo:
            if readonly and self._file is not None:
                self._engine = undo.enter_context(
                    open_readonly(self._file, json_deserializer=_loads)
                )
            else:
                self._engine = sa.create_engine(
                    self._url, json_deserializer=_loads, **_options(self._url)
                )
                undo.callback(self._engine.dispose)
                if self._file is not None:
                    sa.event.listen(self._engine, "connect", _prepare_sqlite)
            prepare(self._engine, self.name, readonly=readonly)
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Let go of the file or the server."""
        self._undo.close()

    def put(self, *runs: Finished, tell: Callable[[str], object] | None = None) -> None:
        """Store runs with their instances and proofs, each in place of an earlier one of its key.

        It is one transaction.

        Parameters
        ----------
        tell
            Called once with a line where another process locks the file for some seconds; then the
            runs wait for as long as that takes.  Without it they wait for a minute.

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
        # Runs first, then what hangs on them, each by key, in every writer: nobody waits in a
        # circle.
        ordered = sorted(runs, key=lambda finished: finished.record.key)
        with self._telling("written"), self._engine.begin() as connection:
            self._wait_for_locks(connection, 1)
            # Not asdict, which copies the traces entry by entry.
            _put(connection, RUNS, [_storable(vars(finished.record)) for finished in ordered])
            instances = [
                _instance(finished) for finished in ordered if finished.instance is not None
            ]
            instances.sort(key=itemgetter("sha256"))
            _put(connection, INSTANCES, instances, replace=False)
            _put(connection, PROOFS, [_proof(finished) for finished in ordered])
            self._wait_for_locks(connection, SECONDS_TO_WAIT)

    def _wait_for_locks(self, connection: Connection, seconds: int) -> None:
        if self._file is not None:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * seconds}")

    def statuses(self) -> dict[tuple[str, str], str]:
        """Return the status of every stored run, by its key and the digest of its sources."""
        return {(key, code): status for key, code, status in self.select("key", "code", "status")}

    def select(self, *names: str, **equal: str) -> list[tuple[Any, ...]]:
        """Return some columns of every stored run, in the order of the keys.

        Parameters
        ----------
        equal
            Texts by column, of the only runs that are wanted.
        """
        query = sa.select(*(RUNS.c[name] for name in names)).order_by(RUNS.c.key)
        query = query.where(*(RUNS.c[name] == text for name, text in equal.items()))
        with self._telling("read"), self._engine.connect() as connection:
            rows = [tuple(row) for row in connection.execute(query)]
            for place, name in enumerate(names):
                _listed(name, [row[place] for row in rows])
            return rows

    def rows(self, keys: Collection[str] | None = None, *, traces: bool = True) -> pd.DataFrame:
        """Return the runs as a table, one row each, in an order that depends on them alone.

        The columns are those of ``kvopt.runs.record``, with their types, the traces among them if
        they are wanted.  Nothing is judged: :func:`kvopt.store.belief.judged` adds what integers
        prove of each bound.
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
        with self._telling("read"), self._engine.connect() as connection:
            for each in _portions(keys, _SCHEDULES):
                query = sa.select(PROOFS.c.key, PROOFS.c.schedule).where(PROOFS.c.key.in_(each))
                for key, packed in connection.execute(query):
                    what = f"the schedule of run {key[:12]}"
                    document = self._unpacked(packed, what)
                    if document is not None:
                        try:
                            parse_schedule(document)
                        except ScheduleFileError as error:
                            raise self._damaged(what, error) from None
                        yield key, document

    def certificate(self, key: str) -> dict[str, Any] | None:
        """Return the certificate of a run's lower bound, None without one."""
        query = sa.select(PROOFS.c.certificate).where(PROOFS.c.key == key)
        return self._document(query, f"the certificate of run {key[:12]}", LARGEST_CERTIFICATE)

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance that was run, None if there was no such run."""
        query = sa.select(INSTANCES.c.document).where(INSTANCES.c.sha256 == sha256)
        return self._document(query, f"the instance {sha256[:12]}")

    def _document(
        self, query: sa.Select[Any], what: str, largest: int = LARGEST_FILE
    ) -> dict[str, Any] | None:
        with self._telling("read"), self._engine.connect() as connection:
            packed = connection.execute(query).scalar()
        return self._unpacked(packed, what, largest)

    def _unpacked(
        self, packed: bytes | None, what: str, largest: int = LARGEST_FILE
    ) -> dict[str, Any] | None:
        try:
            return _unpack(packed, largest)
        except (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError) as error:
            raise self._damaged(what, error) from None

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


def _options(url: URL) -> dict[str, Any]:
    if url.drivername == "sqlite":
        return {"connect_args": {"timeout": SECONDS_TO_WAIT}}
    return {"pool_pre_ping": True, "connect_args": {"connect_timeout": _SECONDS_TO_CONNECT}}


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Let readers go on beside the writer, and have a commit survive a crash of the machine."""
    try:
        _log_ahead(connection)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        connection.close()
        raise


def _log_ahead(connection: sqlite3.Connection) -> None:
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


def _put(
    connection: Connection, table: sa.Table, rows: list[dict[str, Any]], replace: bool = True
) -> None:
    """Insert rows; one of the same key is replaced or kept, also if another is just writing it."""
    if rows:
        connection.execute(_insertion(connection.dialect.name, table, replace), rows)


@cache
def _insertion(dialect: str, table: sa.Table, replace: bool) -> sa.Insert:
    insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    if replace:
        others = {c.name: insert.excluded[c.name] for c in table.c if not c.primary_key}
        insert = insert.on_conflict_do_update(index_elements=table.primary_key, set_=others)
    else:
        insert = insert.on_conflict_do_nothing()
    statement: sa.Insert = insert
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
    if column.trace:
        return [_pairs(column, value) for value in values]
    for value in values:
        if not isinstance(value, column.kind):
            kind = "text" if column.kind is str else f"a JSON {column.kind.__name__}"
            raise ValueError(f"{column.name}: expected {kind}, found {one_line(value, 60)}")
    _listed(column.name, values)
    return values


def _listed(name: str, values: Iterable[Any]) -> None:
    """Refuse a text of a column that is none of the closed list which may stand there."""
    texts = _LISTS.get(name, ())
    for value in values if texts else ():
        if value not in texts:
            told = ", ".join(texts)
            raise ValueError(f"{name}: expected one of {told}, found {one_line(value, 60)}")


def _pairs(column: Column, trace: Any) -> list[tuple[float, float]]:
    numbers = (int, float)
    if not isinstance(trace, list) or not all(
        isinstance(point, list) and len(point) == 2 and all(type(each) in numbers for each in point)
        for point in trace
    ):
        raise ValueError(
            f"{column.name}: expected a trace of pairs (seconds, value), found "
            f"{one_line(trace, 60)}"
        )
    return [(seconds, value) for seconds, value in trace]


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


def _unpack(packed: bytes | None, largest: int) -> dict[str, Any] | None:
    if packed is None:
        return None
    gzipped = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text = gzipped.decompress(packed, largest)
    if not gzipped.eof:
        raise ValueError(f"expected a gzip file of at most {largest:,} bytes, whole")
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError(f"expected an object, found {type(document).__name__}")
    return document
