"""Kernels: plain functions that run interpreted on lists, or compiled by numba on arrays.

A small instance runs them as they stand, so that a short command never imports a compiler.  What
is compiled for a large one is cached beside the file (or where ``NUMBA_CACHE_DIR`` says), so that
a second process only loads it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

#: From this many requests on, loading the compiled kernels costs less than interpreting.
COMPILE_FROM = 3_000

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Kernels that compiled ones cannot call yet.
_plain: list[Callable[..., Any]] = []


def kernel(function: _Function) -> _Function:
    """Mark a function that is run compiled too, and that other kernels call; it stays as it is."""
    _plain.append(function)
    return function


@cache
def compiled(function: _Function) -> _Function:
    """Return a kernel as numba compiles it, or finds it compiled; the compiler is imported here."""
    from numba import njit
    from numba.extending import register_jitable

    while _plain:
        register_jitable(_plain.pop())
    found: _Function = njit(cache=True, nogil=True)(function)
    return found
