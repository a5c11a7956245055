"""The tables of the store."""

from __future__ import annotations

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

METADATA = MetaData()

#: One row a run; the columns are the fields of ``kvopt.running.task.Record``.
RUNS = Table(
    "runs",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("instance", Text, nullable=False),
    Column("instance_sha256", String(64), nullable=False),
    Column("family", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Column("memory", BigInteger, nullable=False),
    Column("known_optimum", BigInteger),
    Column("section", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("time_limit", Float, nullable=False),
    Column("memory_limit", Float),
    Column("threads", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("ending", String(16), nullable=False),
    Column("detail", Text, nullable=False),
    Column("tel", BigInteger),
    Column("lower_bound", BigInteger),
    Column("found_by", Text, nullable=False),
    Column("bound_source", Text, nullable=False),
    Column("relaxation", Float),
    Column("seconds", Float, nullable=False),
    Column("solver_seconds", Float),
    Column("start_seconds", Float, nullable=False),
    Column("total_seconds", Float, nullable=False),
    Column("peak_memory", BigInteger, nullable=False),
    Column("nodes", BigInteger),
    Column("solver", Text, nullable=False),
    Column("incumbents", JSON, nullable=False),
    Column("bounds", JSON, nullable=False),
    Column("code", Text, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("git_commit", Text, nullable=False),
    Column("python", Text, nullable=False),
    Column("platform", Text, nullable=False),
    Column("cpu", Text, nullable=False),
    Column("cores", Integer, nullable=False),
    Column("ram_gb", Float, nullable=False),
    Column("command", JSON, nullable=False),
    Column("finished_utc", String(40), nullable=False),
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
