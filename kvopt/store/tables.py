"""The tables of the store; that of the runs follows from ``kvopt.running.record``."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

from kvopt.running.record import Column as Declared
from kvopt.running.record import columns

METADATA = MetaData()

_TYPES: dict[type, Any] = {str: Text, int: BigInteger, float: Float, list: JSON, dict: JSON}


def _column(declared: Declared) -> Column[Any]:
    """Return the column; what came after the first release has a default for the older rows."""
    default = None
    if declared.since > 1 and not declared.optional:
        given = declared.default
        default = given if isinstance(given, str) else json.dumps(given)
    return Column(
        declared.name,
        _TYPES[declared.kind],
        primary_key=declared.name == "key",
        nullable=declared.optional,
        server_default=default,
    )


#: One row a run.
RUNS = Table(
    "runs",
    METADATA,
    *(_column(declared) for declared in columns()),
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

#: One row: by which version the tables were made, see ``kvopt.store.schema``.
VERSION = Table("kvopt_version", METADATA, Column("version", Integer, primary_key=True))
