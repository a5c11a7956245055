"""The tables of the store; that of the runs follows from ``kvopt.running.record``."""

from __future__ import annotations

from typing import Any

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

from kvopt.running.record import columns

METADATA = MetaData()

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
