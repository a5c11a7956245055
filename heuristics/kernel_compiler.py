"""Kernels: plain functions that run interpreted on lists, or compiled by numba on arrays.

A small instance runs them as they stand, so that a short command never imports a compiler.
Kernels that are compiled for a large one stay on the disk (``support.kernel_cache``).

Kernels that make nothing, but fill the arrays of their callers, are compiled without numba's
runtime for memory, which counts references by atomic steps, and are put into their callers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

#: From this many requests on, loading the compiled kernels costs less than interpreting.
COMPILE_FROM = 3_000

#: True where kernels are interpreted whatever the size, since none may be compiled yet.
_interpreting: ContextVar[bool] = ContextVar("interpreting", default=False)

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Kernels that compiled ones cannot call yet.
_plain: list[Callable[..., Any]] = []
#: Kernels that make nothing.
_filling: set[Callable[..., Any]] = set()


def compiling_pays(n: int) -> bool:
    """Return whether n requests are enough for compiled kernels."""
    return n >= COMPILE_FROM and not _interpreting.get()


@contextmanager
def interpreting() -> Iterator[None]:
    """Have kernels interpreted within, however many requests there are."""
    token = _interpreting.set(True)
    try:
        yield
    finally:
        _interpreting.reset(token)


def kernel(function: _Function) -> _Function:
    """Mark a function that is run compiled too, and that other kernels call; it stays as it is."""
    _plain.append(function)
    return function


def filling_kernel(function: _Function) -> _Function:
    """Mark a kernel that makes no list or array and returns numbers; else it does not compile."""
    _filling.add(function)
    return kernel(function)


@cache
def compiled(function: _Function) -> _Function:
    """Return a kernel as numba compiles it, or finds it compiled; the compiler is imported here."""
    from numba.extending import register_jitable

    from support.kernel_cache import compile_kernel

    while _plain:
        other = _plain.pop()
        options = _options(other)
        (register_jitable(**options) if options else register_jitable)(other)
    found: _Function = compile_kernel(**_options(function))(function)
    return found


def _options(function: Callable[..., Any]) -> dict[str, bool]:
    return {"_nrt": False, "forceinline": True} if function in _filling else {}
