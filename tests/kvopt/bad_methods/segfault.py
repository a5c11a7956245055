"""Dies of a signal in the middle of its work."""

import ctypes
from typing import Any


def solve(instance: Any) -> Any:
    del instance
    ctypes.string_at(0)
