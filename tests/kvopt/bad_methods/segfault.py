"""Dies of a signal in the middle of its work."""

import ctypes


def solve(instance):
    """Read address 0."""
    del instance
    ctypes.string_at(0)
