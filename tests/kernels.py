"""Parts of kernels for tests: Python cannot call them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numba


@cache
def from_python(part: Any) -> Any:
    """Return a function that calls a part."""
    return numba.njit(lambda *arguments: part(*arguments))
