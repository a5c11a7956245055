"""Store of runs: puts finished runs in, and takes rows and documents out."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from instances.instance_files import instance_document
from kvopt.runs.row_columns import RowColumn, row_columns
from kvopt.runs.task import FinishedRun
from kvopt.store.database import SECONDS_TO_WAIT, open_database
from kvopt.store.location import StoreError, store_path
from schedules.schedule_files import parse_schedule, schedule_document
from support.input_files import LARGEST as LARGEST_FILE
from support.input_files import LARGEST_PROOF
from support.message_text import one_line

if TYPE_CHECKING:
    import pandas as pd

#: Seconds that a run waits for a lock of another process without a message.
_QUIET_SECONDS = 5
#: SQLite holds 64-bit integers; a method may claim any.
LARGEST = 2**63 - 1
#: Errors of a cell of another type, which SQLite allows.
_WRONG_CELLS = (ValueError, TypeError, OverflowError, RecursionError)
_AMONG = "IN (SELECT value FROM json_each(?))"


class _LockedError(StoreError):
    """Another process writes, or keeps others from writing."""


class Store:
    """Runs by key, in one SQLite file (write-ahead log).

    Each put is one transaction, whatever kills the process.  A ``readonly`` file may be on a
    read-only disk.  Raises a StoreError for a file that is no store of this version.
    """

    def __init__(self, location: str | Path, *, readonly: bool = False) -> None:
        self.readonly = readonly
        path = store_path(location)
        self.name = str(path)
        with self._one_line("opened"):
            self._connection = open_database(path, readonly=readonly)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def put(self, *runs: FinishedRun, tell: Callable[[str], object] | None = None) -> None:
        """Store runs with their instances and proofs; each replaces an earlier one of its key.

        All are one transaction, which a StoreError undoes.  While another process locks the file,
        the runs wait for a minute, or with ``tell`` without a limit; it receives one line then.
        """
        start = time.monotonic()
        warned = False
        while True:
            try:
                return self._put(runs)
            except _LockedError:
                waited = time.monotonic() - start
                if tell is None and waited > SECONDS_TO_WAIT:
                    raise
                if tell is not None and not warned and waited > _QUIET_SECONDS:
                    warned = True
                    tell(
                        f"{self.name}: locked by another process; what has finished is kept and "
                        "stored when that lets go of it"
                    )

    def _put(self, runs: Sequence[FinishedRun]) -> None:
        """Wait for a lock for a second at most: SQLite lets no signal through meanwhile."""
        connection = self._connection
        with self._one_line("written"):
            connection.execute("PRAGMA busy_timeout=1000")
            try:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    for finished in runs:
                        self._insert(finished)
            finally:
                connection.execute(f"PRAGMA busy_timeout={1000 * SECONDS_TO_WAIT}")

    def _insert(self, finished: FinishedRun) -> None:
        record, instance, schedule = finished.record, finished.instance, finished.schedule
        if finished.about_the_file:  # the fault of the file is none of the run
            record = replace(record, status=finished.status)
        # Not asdict, which copies the traces entry by entry.
        values = [_cell(each) for each in vars(record).values()]
        names, marks = ", ".join(vars(record)), ", ".join("?" * len(values))
        execute = self._connection.execute
        execute(f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})", values)
        if instance is not None:
            document = _pack(instance_document(instance))
            row = (record.instance_sha256, _cell(record.instance), document)
            execute("INSERT OR IGNORE INTO instances VALUES (?, ?, ?)", row)
        packed = None if schedule is None else _pack(schedule_document(schedule))
        certificate = None if finished.certificate is None else _pack(finished.certificate)
        proof = (record.key, packed, certificate)
        execute("INSERT OR REPLACE INTO proofs VALUES (?, ?, ?)", proof)

    def statuses(self) -> dict[tuple[str, str], str]:
        """Return the status of every stored run, by its key and the digest of its sources."""
        return {(key, code): status for key, code, status in self.select("key", "code", "status")}

    def select(self, *names: str, **equal: str) -> list[tuple[Any, ...]]:
        """Return some columns of the runs, in the order of the keys; ``equal`` texts by column."""
        where = " AND ".join([f"{name} = ?" for name in equal] or ["TRUE"])
        with self._one_line("read"):
            found = self._read(names, f"{where} ORDER BY key", [*equal.values()])
            cells = [checked(column, each) if column.texts else each for column, each in found]
            return list(zip(*cells, strict=True))

    def rows(self, keys: Collection[str] | None = None, *, traces: bool = True) -> pd.DataFrame:
        """Return the runs, unjudged, as a sorted table with the columns of ``row_columns``."""
        import pandas as pd  # half a second

        names = [column.name for column in row_columns() if traces or not column.trace]
        among = ("TRUE", []) if keys is None else (f"key {_AMONG}", [json.dumps([*keys])])
        with self._one_line("read"):
            # pd.read_sql reads integers with gaps as floats, which lose digits beyond 2**53.
            frame = pd.DataFrame(
                {
                    column.name: pd.Series(checked(column, values), dtype=column.dtype)
                    for column, values in self._read(names, *among)
                }
            )
            order = ["family", "n", "instance", "method", "seed", "key"]
            return frame.sort_values(order, ignore_index=True)

    def _read(
        self, names: Collection[str], where: str, values: list[str]
    ) -> Iterator[tuple[RowColumn, list[Any]]]:
        """Yield some columns of the runs with their values; JSON is parsed."""
        query = f"SELECT {', '.join(names)} FROM runs WHERE {where}"
        rows = self._connection.execute(query, values).fetchall()
        known = {column.name: column for column in row_columns()}
        for place, name in enumerate(names):
            column = known[name]
            cells = [row[place] for row in rows]
            yield column, list(map(_loads, cells)) if column.kind in (list, dict) else cells

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, or None."""
        return dict(self.schedules([key])).get(key)

    def schedules(self, keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return the keys and schedule documents of runs."""
        query = f"SELECT key, schedule FROM proofs WHERE key {_AMONG}"
        return self._documents(query, keys, "the schedule of run", check=parse_schedule)

    def certificate(self, key: str) -> dict[str, Any] | None:
        """Return the certificate of a run's lower bound, or None."""
        query = f"SELECT key, certificate FROM proofs WHERE key {_AMONG}"
        found = self._documents(query, [key], "the certificate of run", LARGEST_PROOF)
        return dict(found).get(key)

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance that was run, or None."""
        query = f"SELECT sha256, document FROM instances WHERE sha256 {_AMONG}"
        return dict(self._documents(query, [sha256], "the instance")).get(sha256)

    def _documents(
        self,
        query: str,
        keys: Collection[str],
        what: str,
        largest: int = LARGEST_FILE,
        check: Callable[[dict[str, Any]], object] = lambda _: None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        with self._one_line("read"):
            for name, packed in self._connection.execute(query, [json.dumps([*keys])]):
                if packed is None:
                    continue
                try:
                    document = _unpack(packed, largest)
                    check(document)
                except _DAMAGED as error:
                    line = f"{what} {name[:12]} is damaged: {one_line(error, 200)}"
                    raise StoreError(f"{self.name}: {line}") from None
                yield name, document

    @contextmanager
    def _one_line(self, verb: str) -> Iterator[None]:
        """Raise a StoreError of one line for faults of SQLite and damaged columns."""
        try:
            yield
        except (sqlite3.Error, OSError, *_WRONG_CELLS) as error:
            # Extended codes have the plain one in their last byte.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            kind = _LockedError if code == sqlite3.SQLITE_BUSY else StoreError
            raise kind(f"{self.name}: cannot be {verb}: {one_line(error, 300)}") from None


def _cell(value: Any) -> Any:
    """Return a value as SQLite holds it: lists and dictionaries are JSON."""
    stored = _storable(value)
    return json.dumps(stored) if isinstance(stored, list | dict) else stored


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        # SQLite ends a text at NUL, and holds no halves of pairs (undecodable bytes).
        return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return max(-LARGEST, min(value, LARGEST))
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(each) for key, each in value.items()}
    return value


def checked(column: RowColumn, values: list[Any]) -> list[Any]:
    """Return texts, lists and objects of a column, or raise a ValueError for another kind."""
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
        adapter: TypeAdapter[list[Any]] = TypeAdapter(list[kind])
        return adapter.validate_python(values)
    except ValidationError as error:
        found = one_line(values[int(error.errors()[0]["loc"][0])], 60)
        raise ValueError(f"{column.name}: expected {expected}, found {found}") from None


def _loads(text: Any) -> Any:
    if not isinstance(text, str):  # SQLite allows numbers
        raise ValueError(f"expected JSON, found {one_line(text, 60)}")
    return json.loads(text)


def _pack(document: dict[str, Any]) -> bytes:
    # mtime 0: equal documents give equal bytes.
    return gzip.compress(json.dumps(document).encode(), mtime=0)


#: Errors of a damaged document.
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
