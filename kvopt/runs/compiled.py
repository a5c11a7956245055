"""Kernels by unit: compiled once on a machine, before the clock of the run that needs them.

A mark in the folder of the kernels (``support.compiling``) says that a unit is compiled.  The
others are compiled side by side; of several runs one compiles, and the others wait.  Where the
folder takes nothing a temporary one is taken.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from kvopt.places import python_path
from kvopt.runs.in_seconds import ENGINE
from kvopt.runs.provenance import usable_cores
from support.compiling import CLOCK, is_writable, kernel_folder, take_temporary_folder

#: The module of each unit, whose ``compile_kernels`` runs all that it compiles.
UNITS = {
    "annealing": "heuristics.local_search",
    "queues": "heuristics.admission",
    "prices": "kvopt.engines.bound",
    "look-ahead": "formulations.bounds.dual",
    "dominance": "formulations.dp.dominance",
    "layers": "kvopt.engines.search",
    "sweep": "kvopt.engines.parts.backward",
    "seconds": ENGINE,
}
#: Units that one process compiles one after the other, since they share functions.
CHAINS = (
    ("annealing",),
    ("dominance", "layers", "sweep"),
    ("prices", "look-ahead"),
    ("queues",),
    ("seconds",),
)
#: Units whose runs need others, too.
_NEEDS = {
    "look-ahead": {"prices"},
    "layers": {"prices", "dominance"},
    "sweep": {"prices", "dominance"},
}
#: Seconds after which nobody waits any longer for another process that compiles a unit.
_WAIT_SECONDS = 600.0

#: Receives how many units are compiled, of how many.
Tell = Callable[[int, int], object]


def missing_units(units: Iterable[str]) -> list[str]:
    """Return those of some units, and of those that they need, that are to be compiled."""
    wanted = set(units)
    wanted = wanted.union(*(_NEEDS.get(unit, ()) for unit in wanted))
    return [unit for unit in UNITS if unit in wanted and not _is_compiled(unit)]


def compile_first(units: Collection[str], tell: Tell = lambda *_: None) -> None:
    """Compile the units that this machine lacks, and tell how many are there, of how many."""
    missing = missing_units(units)
    if missing and not is_writable(kernel_folder()):
        take_temporary_folder()
        missing = missing_units(units)
    if not missing:
        return
    with CLOCK.running():
        _compile(missing, tell)
    for unit in missing_units(missing):
        # They could not be kept, or fail: compiled here, where the run tells the reason.
        with CLOCK.running(), contextlib.suppress(Exception):
            importlib.import_module(UNITS[unit]).compile_kernels()


def _compile(units: Sequence[str], tell: Tell) -> None:
    """Compile units in processes below one of their own, which sends the name of each."""
    tell(0, len(units))
    environment = {"PYTHONPATH": python_path(), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "kvopt.runs.compiled", *units],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        done = 0
        for line in process.stdout:
            if line.strip() in units:  # libraries may print, too
                done += 1
                tell(done, len(units))


def _mark(unit: str) -> Path | None:
    folder = kernel_folder()
    return None if folder is None else folder / f"{unit}.compiled"


def _is_compiled(unit: str) -> bool:
    mark = _mark(unit)
    return mark is not None and mark.exists()


def _compile_chain(units: Sequence[str]) -> None:
    """Compile units one after the other unless another process does; print and mark each."""
    from filelock import FileLock, Timeout  # here: most runs compile nothing

    for unit in units:
        mark = _mark(unit)
        assert mark is not None
        with contextlib.suppress(Timeout), FileLock(mark.with_suffix(".lock"), _WAIT_SECONDS):
            if not mark.exists():
                importlib.import_module(UNITS[unit]).compile_kernels()
                mark.touch()
        print(unit, flush=True)


def _main(units: Collection[str]) -> None:
    """Compile units, each chain in a process of its own, one on each core."""
    import multiprocessing
    from multiprocessing.connection import wait
    from multiprocessing.process import BaseProcess

    import numba  # once, before the processes fork

    numba.njit(lambda: 0)()
    # A compiler makes many objects that stay: to look for garbage among them takes a sixth.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    fork = multiprocessing.get_context("fork")
    running: set[BaseProcess] = set()
    for chain in CHAINS:
        wanted = [unit for unit in chain if unit in units]
        if len(running) >= usable_cores():
            wait([each.sentinel for each in running])
            running = {each for each in running if each.is_alive()}
        if wanted:
            process = fork.Process(target=_compile_chain, args=(wanted,))
            process.start()
            running.add(process)
    for each in running:
        each.join()


if __name__ == "__main__":
    _main(sys.argv[1:])
