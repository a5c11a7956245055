"""Compiled kernels, by unit: made once on a machine, before the clock of the run that needs them.

numba keeps what it has compiled in the user's cache folder (``support.compiling``).  A mark there
names the files of one unit's kernels, of these sources, this numba and this processor.  Without it,
or where a file is gone or torn, a process of its own makes them first; units are made side by side,
one on each core.  Of several runs that want the same unit one compiles, and the others wait for
it.  Where no kernel can be kept, each process compiles its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from kvopt.methods.sources import reachable, read_source
from kvopt.places import python_path
from kvopt.runs.provenance import usable_cores
from support.compiling import (
    CLOCK,
    at_each_kernel,
    compilers,
    kept_files,
    kernel_folder,
    kernel_folders,
    kernels,
)
from support.jsonfile import write_text

#: The module of each unit, whose ``compile_kernels`` runs all that it compiles.
UNITS = {
    "annealing": "heuristics.local_search",
    "queues": "heuristics.admission",
    "clocked-queues": "heuristics.real_time",
    "prices": "kvopt.engines.bound",
    "look-ahead": "formulations.bounds.dual",
    "dominance": "formulations.search._dominance",
    "sweep": "kvopt.engines.parts.backward",
    "layers": "kvopt.engines.search",
    "seconds": "kvopt.engines.in_seconds",
}
#: The modules of a unit's own kernels, where these are declared when their module is imported.
KERNELS = {
    "prices": (
        "formulations.bounds.pattern_kernels",
        "formulations.lagrangian.kernels",
        # What both searches run.
        "formulations.search._sorting",
    ),
    "look-ahead": ("formulations.lagrangian.lookahead_kernels",),
    "sweep": (
        "formulations.search._backward_kernels",
        "formulations.search._path_kernels",
        "formulations.search._level_kernels",
    ),
    "dominance": ("formulations.search._dominance_kernels",),
    "layers": ("formulations.search._kernels",),
    "seconds": ("formulations.bounds.rate_kernels",),
}
#: How many kernels each unit has, so that the sum is known before the first is compiled.
COUNTS = {
    "annealing": 4,
    "queues": 1,
    "clocked-queues": 1,
    "prices": 7,
    "look-ahead": 3,
    "dominance": 10,
    "sweep": 23,
    "layers": 14,
    "seconds": 1,
}
#: Units that run kernels of another, and so come after it.
_AFTER = {
    "look-ahead": "prices",
    "dominance": "prices",
    "sweep": "dominance",
    "layers": "dominance",
}
#: What the sources of kernels import: the compiler, or what marks them for it.
_COMPILERS = {"support.compiling.njit", "heuristics.compiled"}
#: Seconds after which nobody waits any longer for another that compiles; it takes a minute.
_WAIT_SECONDS = 600.0

#: Told how many kernels are there, of how many.
Tell = Callable[[int, int], object]
#: Called with what is being compiled, by unit.
Meanwhile = Callable[[Mapping[str, "Future[None]"]], object]


def missing_units(units: Iterable[str]) -> list[str]:
    """Return those of some units, and of those that they come after, that are to be compiled."""
    wanted = set(units)
    for unit in reversed(UNITS):
        if unit in wanted and unit in _AFTER:
            wanted.add(_AFTER[unit])
    return [unit for unit in UNITS if unit in wanted and not _is_there(unit)]


def compile_first(
    units: Collection[str], tell: Tell | None = None, meanwhile: Meanwhile = lambda _: None
) -> None:
    """Have units compiled that have not been on this machine, side by side.

    Parameters
    ----------
    meanwhile
        What this process does until all are there.
    """
    missing = missing_units(units)
    if not missing:
        return
    told = _Told(tell, missing)
    with CLOCK.running(), ThreadPoolExecutor(usable_cores()) as pool:
        begun: dict[str, Future[None]] = {}
        for unit in missing:  # one that others come after is among the first
            before = begun.get(_AFTER.get(unit, ""))
            begun[unit] = pool.submit(_make, unit, before, told)
        meanwhile(begun)
    for unit in missing:
        if not _is_there(unit):
            # Nothing can be kept: here, before the clock of the run, which tells what fails.
            with CLOCK.running(), contextlib.suppress(Exception):
                importlib.import_module(UNITS[unit]).compile_kernels()


class _Told:
    """Adds up what the processes that compile say, of a sum that stays the same."""

    def __init__(self, tell: Tell | None, units: Iterable[str]) -> None:
        self._tell, self._lock = tell, threading.Lock()
        self._done = dict.fromkeys(units, 0)
        self._of = sum(COUNTS.get(unit, 0) for unit in self._done)

    def take(self, unit: str, done: int) -> None:
        """Take how many kernels of a unit are there, and tell how many of all are."""
        with self._lock:
            self._done[unit] = done
            if self._tell is not None:
                self._tell(sum(self._done.values()), self._of)


def _make(unit: str, before: Future[None] | None, told: _Told) -> None:
    """Compile a unit, after another, unless somebody else does it meanwhile."""
    if before is not None:
        before.result()
    folder = kernel_folder()
    if folder is None:
        return
    mark = folder / _mark(unit)
    with _one_at_a_time(mark):
        if not _holds(mark):
            _compile(unit, mark, told)
    # Another may have compiled it meanwhile.
    told.take(unit, COUNTS.get(unit, 0))


def _one_at_a_time(mark: Path) -> AbstractContextManager[object]:
    """Return a lock, which ends with its process; none where the folder takes no files."""
    from filelock import FileLock, Timeout  # here: most runs compile nothing

    lock = FileLock(mark.with_suffix(".lock"), timeout=_WAIT_SECONDS)
    try:
        return lock.acquire()
    except (OSError, Timeout):
        return contextlib.nullcontext()


def _compile(unit: str, mark: Path, told: _Told) -> None:
    """Compile a unit in a process of its own, which says how far it is, and write its mark."""
    made = subprocess.Popen(
        [sys.executable, "-P", "-m", "kvopt.runs.compiled", unit],
        env=os.environ | {"PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    files: object = None
    with made:
        assert made.stdout is not None
        for line in made.stdout:
            # Libraries may print, too.
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                if isinstance(said, list):
                    told.take(unit, int(said[0]))
                else:
                    files = said
    if made.returncode == 0 and files:
        with contextlib.suppress(OSError):
            write_text(mark, json.dumps(files))


def _is_there(unit: str) -> bool:
    return any(_holds(folder / _mark(unit)) for folder in kernel_folders())


def _holds(mark: Path) -> bool:
    """Tell whether kernels have been compiled and their files are still as they were made."""
    try:
        files = json.loads(mark.read_bytes())
        return all((mark.parent / file).stat().st_size == size for file, size in files.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def _mark(unit: str) -> str:
    """Return the name of the file that says that a unit has been compiled."""
    told = [*_sources(UNITS[unit]), *compilers(), platform.machine(), _processor()]
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return f"{unit}-{digest}.compiled"


@cache
def _sources(module: str) -> list[str]:
    """Return the digests of all kernels that a module can reach, and of what keeps them."""
    kernels = {
        each: path
        for each, path in reachable([module]).items()
        if _COMPILERS & read_source(path).imports or each == "support.compiling"
    }
    return [f"{each} {read_source(path).digest}" for each, path in sorted(kernels.items())]


@cache
def _processor() -> str:
    """Return what tells processors apart for which kernels differ."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        told = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
        return hashlib.sha256("\n".join(sorted(told)).encode()).hexdigest()
    return platform.processor()


def _main(unit: str) -> None:
    """Compile a unit; print how far it is after each kernel, and the files in the end."""
    own = KERNELS.get(unit)
    for module in own or ():
        importlib.import_module(module)

    def tell() -> None:
        are_there = (there for (module, _), there in kernels().items() if not own or module in own)
        print(json.dumps([sum(are_there)]), flush=True)

    at_each_kernel(tell)
    importlib.import_module(UNITS[unit]).compile_kernels()
    folder = kernel_folder()
    files = {os.path.relpath(file, folder): file.stat().st_size for file in kept_files()}
    print(json.dumps(files if folder is not None else {}))


if __name__ == "__main__":
    _main(sys.argv[1])
