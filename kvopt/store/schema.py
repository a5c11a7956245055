"""The version of a store's tables: made where there are none, brought up to date, or refused."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from kvopt.store.location import StoreError
from kvopt.store.tables import METADATA, RUNS, VERSION

#: The first release wrote its stores without a version: that is version 1.
CURRENT = 1

#: Who makes the tables, one process at a time; the number only has to be kvopt's own.
_LOCK = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(5272014091)"}


def prepare(engine: sa.Engine, name: str, *, readonly: bool) -> None:
    """Create what is missing, unless the store is only read, and refuse what is no store of ours.

    Others may be doing the same at the same time.

    Raises
    ------
    StoreError
        If it is of a newer version, has other columns, or is an SQLite file of something else.
    """
    with engine.connect() as connection:
        ready = _checked(connection, name)
    if ready:
        return
    if readonly:
        _require_runs(engine, name)
        return
    with engine.begin() as connection:
        connection.exec_driver_sql(_LOCK[connection.dialect.name])
        # Between the look above and the lock another version may have made them.
        if not _checked(connection, name):
            METADATA.create_all(connection)
            connection.execute(sa.insert(VERSION).values(version=CURRENT))


def _checked(connection: Connection, name: str) -> bool:
    """Return whether all tables are there, of a version that can be used."""
    inspector = sa.inspect(connection)
    tables = set(inspector.get_table_names())
    if VERSION.name in tables:
        found = connection.execute(sa.select(sa.func.max(VERSION.c.version))).scalar()
        if found is not None and found > CURRENT:
            raise StoreError(
                f"{name}: a store of version {found}, this kvopt knows them up to {CURRENT}"
            )
    if RUNS.name in tables:
        columns = {column["name"] for column in inspector.get_columns(RUNS.name)}
        missing = [column.name for column in RUNS.c if column.name not in columns]
        if missing:
            raise StoreError(f"{name}: no store of kvopt: its table runs has no {missing[0]}")
    elif tables and connection.dialect.name == "sqlite":
        raise StoreError(f"{name}: no store of kvopt, but an SQLite file of something else")
    return {table.name for table in METADATA.tables.values()} <= tables


def _require_runs(engine: sa.Engine, name: str) -> None:
    if not sa.inspect(engine).has_table(RUNS.name):
        raise StoreError(f"{name}: no store of kvopt: it has no table runs")
