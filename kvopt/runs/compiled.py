"""Kernels by unit: compiled once on a machine, before the clock of the run that needs them.

A mark in the folder of the kernels (``support.compiling``) names the files of a unit.  Units
without a mark are compiled side by side; of several runs one compiles, and the others wait.  Where
a file is missing or torn, or the folder takes none, a temporary folder is taken.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from kvopt.places import python_path
from kvopt.runs.in_seconds import ENGINE
from kvopt.runs.provenance import usable_cores
from support.compiling import CLOCK, KEPT, is_writable, kernel_folder, take_temporary_folder
from support.jsonfile import write_text

#: The module of each unit, whose ``compile_kernels`` runs all that it compiles.
UNITS = {
    "annealing": "heuristics.local_search",
    "queues": "heuristics.admission",
    "clocked-queues": "heuristics.real_time",
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
    ("queues", "clocked-queues"),
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
    states = {unit: _is_kept(unit) for unit in UNITS if unit in wanted}
    return [unit for unit, kept in states.items() if not kept]


def compile_first(units: Collection[str], tell: Tell = lambda *_: None) -> None:
    """Compile the units that this machine lacks, and tell how many are there, of how many."""
    if units and any(_is_kept(unit) is False for unit in UNITS):
        take_temporary_folder()
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


def _is_kept(unit: str) -> bool | None:
    """Tell whether the files of a unit are as they were made; None for a unit without a mark."""
    mark = _mark(unit)
    try:
        assert mark is not None
        files = json.loads(mark.read_bytes())
        # The index of a kernel grows with the types that other units call it with.
        return all((mark.parent / file).stat().st_size >= size for file, size in files.items())
    except (OSError, ValueError, AttributeError, TypeError, AssertionError):
        return False if mark is not None and mark.exists() else None


def _compile_chain(units: Sequence[str]) -> None:
    """Compile units one after the other unless another process does; print and mark each."""
    from filelock import FileLock, Timeout  # here: most runs compile nothing

    for unit in units:
        mark = _mark(unit)
        assert mark is not None
        with contextlib.suppress(Timeout), FileLock(mark.with_suffix(".lock"), _WAIT_SECONDS):
            if not _is_kept(unit):
                importlib.import_module(UNITS[unit]).compile_kernels()
                write_text(mark, json.dumps(_sizes(mark.parent)))
        print(unit, flush=True)


def _sizes(folder: Path) -> dict[str, int]:
    """Return the sizes of the files of all kernels that this process has read or kept."""
    files = {file for index in KEPT for file in (index, *index.parent.glob(f"{index.stem}.*.nbc"))}
    return {os.path.relpath(file, folder): file.stat().st_size for file in files}


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
