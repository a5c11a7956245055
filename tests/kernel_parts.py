"""Wrap parts of kernels, which Python cannot call, for tests."""

from functools import cache
from typing import Any

import numba


@cache
def from_python(part: Any) -> Any:
    """Return a function that calls a part."""
    return numba.njit(lambda *arguments: part(*arguments))
