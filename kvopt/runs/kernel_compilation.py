"""Kernels by unit: compiled once on a machine, before the clock of the run that needs them.

A mark in the folder of the kernels (``support.kernel_cache``) says that a unit is compiled.  The
others are compiled side by side; of several runs one compiles, and the others wait.  A temporary
folder replaces one that cannot be written.
"""

import contextlib
import gc
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from kvopt.project_paths import python_path
from kvopt.runs.provenance import usable_cores
from kvopt.runs.serving_imports import ENGINE
from support.kernel_cache import CLOCK, is_writable, kernel_folder, take_temporary_folder

#: The module of each unit, whose ``compile_kernels`` runs all that it compiles.  Units of a chain
#: share functions: one process compiles them one after the other.
CHAINS = (
    {"annealing": "heuristics.list_search"},
    {
        "dominance": "formulations.dp.dominance",
        "layers": "kvopt.engines.search",
        "sweep": "kvopt.engines.parts.sweep_search",
    },
    {"prices": "kvopt.engines.bound", "look-ahead": "formulations.bounds.dual"},
    {"queues": "heuristics.admission"},
    {"seconds": ENGINE},
)
UNITS = {unit: module for chain in CHAINS for unit, module in chain.items()}
#: Units whose runs need others, too.
_NEEDS = {
    "look-ahead": {"prices"},
    "layers": {"prices", "dominance"},
    "sweep": {"prices", "dominance"},
}
#: Seconds for which a process waits for another one that compiles a unit.
_WAIT_SECONDS = 600.0

#: Receives how many units are compiled, of how many.
Listen = Callable[[int, int], object]


def missing_units(units: Iterable[str]) -> list[str]:
    """Return the units that are to be compiled, of some and of all that they need."""
    wanted = set(units)
    wanted = wanted.union(*(_NEEDS.get(unit, ()) for unit in wanted))
    folder = kernel_folder()
    return [
        unit
        for unit in UNITS
        if unit in wanted and (folder is None or not _mark(folder, unit).exists())
    ]


def compile_first(units: Collection[str], listen: Listen = lambda *_: None) -> None:
    """Compile the units that this machine lacks; send the numbers of compiled and of all units."""
    missing = missing_units(units)
    if missing and not is_writable(kernel_folder()):
        take_temporary_folder()
        missing = missing_units(units)
    if not missing:
        return
    with CLOCK.running():
        _compile(missing, listen)
    for unit in missing_units(missing):
        # They could not be kept, or fail: compiled here, where the run sends the reason.
        with CLOCK.running(), contextlib.suppress(Exception):
            importlib.import_module(UNITS[unit]).compile_kernels()


def _compile(units: Sequence[str], listen: Listen) -> None:
    """Compile units below a separate process, which sends the name of each."""
    listen(0, len(units))
    environment = {"PYTHONPATH": python_path(), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "kvopt.runs.kernel_compilation", *units],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        names = (line for line in process.stdout if line.strip() in units)  # libraries print, too
        for done, _ in enumerate(names, 1):
            listen(done, len(units))


def _mark(folder: Path, unit: str) -> Path:
    return folder / f"{unit}.compiled"


def _compile_chain(units: Sequence[str]) -> None:
    """Compile units one after the other unless another process does; print and mark each."""
    from filelock import FileLock, Timeout  # here: most runs compile nothing

    folder = kernel_folder()
    assert folder is not None
    for unit in units:
        mark = _mark(folder, unit)
        with contextlib.suppress(Timeout), FileLock(mark.with_suffix(".lock"), _WAIT_SECONDS):
            if not mark.exists():
                importlib.import_module(UNITS[unit]).compile_kernels()
                mark.touch()
        print(unit, flush=True)


def _main(units: Collection[str]) -> None:
    """Compile units, one chain on each core."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import numba  # once, before the processes fork

    numba.njit(lambda: 0)()
    # A compiler makes many objects that stay: to look for garbage among them takes a sixth.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    with ProcessPoolExecutor(min(usable_cores(), len(CHAINS)), get_context("fork")) as pool:
        pool.map(_compile_chain, [[unit for unit in chain if unit in units] for chain in CHAINS])


if __name__ == "__main__":
    _main(sys.argv[1:])
