"""The tables of the store, made where there are none; that of the runs is that of a row."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.engine import Connection

from kvopt.runs.record import columns
from kvopt.store.location import StoreError

METADATA = MetaData()

#: Who makes the tables, one process at a time; the number only has to be kvopt's own.
_LOCK = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(5272014091)"}
_TYPES: dict[type, Any] = {str: Text, int: BigInteger, float: Float, list: JSON, dict: JSON}


#: One row a run.
RUNS = Table(
    "runs",
    METADATA,
    *(
        Column(
            declared.name,
            _TYPES[declared.kind],
            primary_key=declared.name == "key",
            nullable=declared.optional,
        )
        for declared in columns()
    ),
    Index("runs_of_instance", "instance_sha256"),
)

#: The instances as they were run, so that a store proves its rows by itself.
INSTANCES = Table(
    "instances",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
)

#: The checked schedule and the certificate of the bound, gzip'd JSON; apart from the rows, which
#: are read as a whole.
PROOFS = Table(
    "proofs",
    METADATA,
    Column("key", String(64), ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("schedule", LargeBinary),
    Column("certificate", LargeBinary),
)


def prepare(engine: sa.Engine, name: str, *, readonly: bool) -> None:
    """Make the tables, by one transaction, unless they are there or the store is only read.

    Raises
    ------
    StoreError
        If its runs have other columns, it is an SQLite file of something else, or it is only read
        and has no runs.
    """
    with engine.connect() as connection:
        tables = _tables(connection, name)
    if readonly and RUNS.name not in tables:
        raise StoreError(f"{name}: no store of kvopt: it has no table {RUNS.name}")
    if not (readonly or set(METADATA.tables) <= tables):
        with engine.begin() as connection:
            connection.exec_driver_sql(_LOCK[connection.dialect.name])
            METADATA.create_all(connection)


def _tables(connection: Connection, name: str) -> set[str]:
    """Return the names of the tables that are there; refuse those of something else."""
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
    elif tables and connection.dialect.name == "sqlite":
        raise StoreError(f"{name}: no store of kvopt, but an SQLite file of something else")
    return tables
