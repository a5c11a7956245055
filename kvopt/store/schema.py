"""The version of a store's tables: made where there are none, brought up to date, or refused."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from instances.telling import one_line
from kvopt.running.record import columns, current_version
from kvopt.store.location import StoreError
from kvopt.store.tables import METADATA, RUNS, VERSION

#: Who makes or changes the tables, one process at a time; the number only has to be kvopt's own.
_LOCK = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(5272014091)"}


@dataclass(frozen=True)
class _Found:
    """What a database holds: whether all tables of some version, and which columns are left."""

    complete: bool
    version: int
    missing: tuple[str, ...]

    @property
    def current(self) -> bool:
        return self.complete and not self.missing and self.version == current_version()


def prepare(engine: sa.Engine, name: str, *, readonly: bool) -> tuple[str, ...]:
    """Make the tables or bring them up to date, unless the store is only read.

    All of it is one transaction.  Others may be doing the same at the same time, and a process of
    an older version that writes meanwhile goes on: new columns have defaults.

    Returns
    -------
    tuple of str
        The columns that the table of the runs lacks, since an older version made it and it is only
        read.

    Raises
    ------
    StoreError
        If it is of a newer version, has other columns, is an SQLite file of something else, or
        cannot be brought up to date.
    """
    with engine.connect() as connection:
        found = _look(connection, name)
    if readonly:
        _require_runs(engine, name)
        return found.missing
    if not found.current:
        _bring_up_to_date(engine, name, found.version)
    return ()


def _bring_up_to_date(engine: sa.Engine, name: str, version: int) -> None:
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(_LOCK[connection.dialect.name])
            # Between the look before and the lock another process may have done it.
            found = _look(connection, name)
            if found.current:
                return
            METADATA.create_all(connection)
            for column in found.missing:
                definition = CreateColumn(RUNS.c[column]).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {RUNS.name} ADD COLUMN {definition}")
            connection.execute(sa.delete(VERSION))
            connection.execute(sa.insert(VERSION).values(version=current_version()))
    except SQLAlchemyError as error:
        if version in (0, current_version()):
            raise
        reason = one_line(getattr(error, "orig", None) or error, 200)
        raise StoreError(
            f"{name}: a store of version {version} cannot be brought up to version "
            f"{current_version()} ({reason}): open it once with the right to change its tables, "
            "or give another --store"
        ) from None


def _look(connection: Connection, name: str) -> _Found:
    """Return what the database holds; refuse what is no store, or one of a newer version."""
    inspector = sa.inspect(connection)
    tables = set(inspector.get_table_names())
    # The first release's first stores had no version; 0: nothing is there.
    version = 1 if RUNS.name in tables else 0
    if VERSION.name in tables:
        stored = connection.execute(sa.select(sa.func.max(VERSION.c.version))).scalar()
        version = max(version, stored or 0)
        if version > current_version():
            raise StoreError(
                f"{name}: a store of version {version}, this kvopt knows them up to "
                f"{current_version()}"
            )
    missing: tuple[str, ...] = ()
    if RUNS.name in tables:
        there = {column["name"] for column in inspector.get_columns(RUNS.name)}
        missing = tuple(column.name for column in columns() if column.name not in there)
        for column in columns():
            if column.name in missing and column.since <= version:
                raise StoreError(f"{name}: no store of kvopt: its table runs has no {column.name}")
    elif tables and connection.dialect.name == "sqlite":
        raise StoreError(f"{name}: no store of kvopt, but an SQLite file of something else")
    complete = {table.name for table in METADATA.tables.values()} <= tables
    return _Found(complete, version, missing)


def _require_runs(engine: sa.Engine, name: str) -> None:
    if not sa.inspect(engine).has_table(RUNS.name):
        raise StoreError(f"{name}: no store of kvopt: it has no table runs")
