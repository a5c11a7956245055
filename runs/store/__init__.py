"""The store of runs: one SQLite file, or a PostgreSQL server, behind the same few functions."""

from runs.store.location import StoreError
from runs.store.store import Store

__all__ = ["Store", "StoreError"]
