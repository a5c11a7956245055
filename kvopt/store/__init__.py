"""The store of runs: one SQLite file behind a few functions."""

from kvopt.store.location import StoreError
from kvopt.store.store import Store

__all__ = ["Store", "StoreError"]
