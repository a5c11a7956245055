"""Engines' compiled kernels: made once on a machine, before the clock of the run that needs them.

numba keeps what it has compiled beside the sources, or where ``NUMBA_CACHE_DIR`` says.  A mark
there tells of which kernels, of these sources and this numba, that has been done; without it a
process of its own does it first.  Of several that want the same kernels one compiles, and the
others wait for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path

from kvopt.methods.engines import engine_of
from kvopt.methods.sources import reachable, read_source
from kvopt.places import python_path

#: What the sources of kernels import: the compiler, or what marks them for it.
_COMPILERS = {"numba", "heuristics.compiled"}


def compile_first(engines: Iterable[str]) -> None:
    """Have the kernels of engines compiled that have not been on this machine."""
    for name in engines:
        mark = _mark(name)
        if mark.exists():
            continue
        with _one_at_a_time(mark):
            if not mark.exists():
                _compile(name, mark)


def _one_at_a_time(mark: Path) -> AbstractContextManager[object]:
    """Return a lock, which ends with its process; none where the folder takes no files."""
    from filelock import FileLock  # here: most runs compile nothing

    lock = FileLock(mark.with_suffix(".lock"))
    try:
        return lock.acquire()
    except OSError:
        return contextlib.nullcontext()


def _compile(name: str, mark: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kvopt.running.compiled", name],
        env=os.environ | {"PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode == 0:
        with contextlib.suppress(OSError):
            mark.touch()


def _mark(name: str) -> Path:
    """Return the file that says that an engine's kernels have been compiled."""
    module = engine_of(name).module
    kernels = {
        each: path
        for each, path in reachable([module]).items()
        if _COMPILERS & read_source(path).imports
    }
    told = [f"{each} {read_source(path).digest}" for each, path in sorted(kernels.items())]
    told += [version("numba"), version("numpy"), platform.python_version(), platform.machine()]
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return _folder() / f"kvopt-{name}-{digest}.compiled"


def _folder() -> Path:
    """Return where marks are kept; numba falls back on a folder of the user's likewise."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(named) if named else Path(__file__).parent / "__pycache__"
    with contextlib.suppress(OSError):
        beside.mkdir(parents=True, exist_ok=True)
    if os.access(beside, os.W_OK):
        return beside
    user = Path.home() / ".cache" / "kvopt"
    with contextlib.suppress(OSError):
        user.mkdir(parents=True, exist_ok=True)
        return user
    return Path(tempfile.gettempdir())


if __name__ == "__main__":
    importlib.import_module(engine_of(sys.argv[1]).module).compile_kernels()
