"""The store of runs: one SQLite file, or a PostgreSQL server, behind the same few functions."""

from runs.store.store import Store, StoreError

__all__ = ["Store", "StoreError"]
