"""What a simulator says of one request."""

from __future__ import annotations

from typing import NamedTuple


class ServedRequest(NamedTuple):
    """When its first token came and when it completed (ns), and how often it was evicted."""

    first_token: int
    completion: int
    evictions: int


class SimulatorError(Exception):
    """Another simulator cannot be run or answers what is not understood; one line."""
