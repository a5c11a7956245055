"""The admission kernels, interpreted or compiled: one source, one interface.

Small instances run the plain functions of ``heuristics.admission`` on lists, so that a short
command never imports a compiler.  Large ones run the same file compiled by numba on arrays; what
is compiled is cached beside the file (or where ``NUMBA_CACHE_DIR`` says), so that a second process
only loads it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from types import ModuleType
from typing import Protocol

import numpy as np

from heuristics import admission
from heuristics.policy import Ints

#: From this many requests on, loading the compiled kernels costs less than interpreting.
COMPILE_FROM = 3_000


class Kernels(Protocol):
    """What the simulator calls; all arrays have shape (n,) and hold 64-bit integers."""

    def run_in_order(
        self,
        arrivals: Ints,
        prompts: Ints,
        beliefs: Ints,
        outputs: Ints,
        by_rank: Ints,
        ranks: Ints,
        by_arrival: Ints,
        memory: int,
        first_fit: bool,
    ) -> list[int]:
        """Return the start rounds (``heuristics.admission.run_in_order``)."""


class _Interpreted:
    def run_in_order(
        self,
        arrivals: Ints,
        prompts: Ints,
        beliefs: Ints,
        outputs: Ints,
        by_rank: Ints,
        ranks: Ints,
        by_arrival: Ints,
        memory: int,
        first_fit: bool,
    ) -> list[int]:
        n = len(outputs)
        columns = (arrivals, prompts, beliefs, outputs, by_rank, ranks, by_arrival)
        work = ([0] * n, [0] * n, [0] * n)
        starts = [0] * n
        admission.run_in_order(
            *(column.tolist() for column in columns), memory, first_fit, *work, starts
        )
        return starts


class _Compiled:
    def run_in_order(
        self,
        arrivals: Ints,
        prompts: Ints,
        beliefs: Ints,
        outputs: Ints,
        by_rank: Ints,
        ranks: Ints,
        by_arrival: Ints,
        memory: int,
        first_fit: bool,
    ) -> list[int]:
        n = len(outputs)
        columns = (arrivals, prompts, beliefs, outputs, by_rank, ranks, by_arrival)
        work = (np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64))
        starts = np.zeros(n, np.int64)
        compiled_admission().run_in_order(
            *(np.ascontiguousarray(column, dtype=np.int64) for column in columns),
            np.int64(memory),
            first_fit,
            *work,
            starts,
        )
        return starts.tolist()


def kernels(n: int) -> Kernels:
    """Return the kernels for an instance of n requests."""
    return _Compiled() if n >= COMPILE_FROM else _Interpreted()


def warm_up(n: int) -> None:
    """Load the kernels for n requests, which compiles them where no other process has before."""
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    kernels(n).run_in_order(zero, zero, one, one, zero, zero, zero, 1, False)


@cache
def compiled_admission() -> ModuleType:
    """Load ``heuristics.admission`` a second time with every kernel compiled."""
    name = "heuristics._compiled_admission"
    spec = importlib.util.spec_from_file_location(name, admission.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    os.environ[admission.COMPILE_FLAG] = "1"
    try:
        spec.loader.exec_module(module)
    finally:
        del os.environ[admission.COMPILE_FLAG]
    return module
