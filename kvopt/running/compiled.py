"""Engines' compiled kernels: made once on a machine, before the clock of the run that needs them.

numba keeps what it has compiled beside the sources, or where ``NUMBA_CACHE_DIR`` says
(``instances.compiling``).  A mark there tells of which kernels, of these sources and this numba,
that has been done, and names their files; without it, or where a file is gone or torn, a process of
its own does it first.  Of several that want the same kernels one compiles, and the others wait for
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
from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path

from instances.compiling import CLOCK, is_writable, kept_files, private_folder
from instances.jsonfile import write_text
from kvopt.methods.engines import engine_of
from kvopt.methods.sources import reachable, read_source
from kvopt.places import python_path

#: What the sources of kernels import: the compiler, or what marks them for it.
_COMPILERS = {"instances.compiling.njit", "heuristics.compiled"}
#: Seconds after which nobody waits any longer for another that compiles; it takes a minute.
_WAIT_SECONDS = 600.0


def compile_first(engines: Iterable[str]) -> None:
    """Have the kernels of engines compiled that have not been on this machine."""
    for name in engines:
        mark = _mark(name)
        if mark is not None and _holds(mark):
            continue
        with CLOCK.running():
            if mark is not None:
                with _one_at_a_time(mark):
                    if not _holds(mark):
                        _compile(name, mark)
            if mark is None or not _holds(mark):
                # Nothing can be kept: here, before the clock of the run, which tells what fails.
                with contextlib.suppress(Exception):
                    importlib.import_module(engine_of(name).module).compile_kernels()


def _one_at_a_time(mark: Path) -> AbstractContextManager[object]:
    """Return a lock, which ends with its process; none where the folder takes no files."""
    from filelock import FileLock, Timeout  # here: most runs compile nothing

    lock = FileLock(mark.with_suffix(".lock"), timeout=_WAIT_SECONDS)
    try:
        return lock.acquire()
    except (OSError, Timeout):
        return contextlib.nullcontext()


def _compile(name: str, mark: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kvopt.running.compiled", name],
        env=os.environ | {"PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode == 0:
        with contextlib.suppress(OSError, ValueError, IndexError):
            # Libraries may have printed before.
            files = json.loads(done.stdout.decode().strip().splitlines()[-1])
            if files:
                write_text(mark, json.dumps(files))


def _holds(mark: Path) -> bool:
    """Tell whether kernels have been compiled and their files are still as they were made."""
    try:
        files = json.loads(mark.read_bytes())
        return all(os.stat(file).st_size == size for file, size in files.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def _mark(name: str) -> Path | None:
    """Return the file that says that an engine's kernels have been compiled, None without one."""
    folder = _folder()
    if folder is None:
        return None
    module = engine_of(name).module
    kernels = {
        each: path
        for each, path in reachable([module]).items()
        if _COMPILERS & read_source(path).imports
    }
    told = [f"{each} {read_source(path).digest}" for each, path in sorted(kernels.items())]
    told += [version("numba"), version("numpy"), platform.python_version(), platform.machine()]
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return folder / f"kvopt-{name}-{digest}.compiled"


def _folder() -> Path | None:
    """Return where marks are kept; numba falls back on a folder of the user's likewise."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(named) if named else Path(__file__).parent / "__pycache__"
    users = []
    with contextlib.suppress(RuntimeError):  # a user without a home
        users.append(Path.home() / ".cache" / "kvopt")
    return next((each for each in (beside, *users) if is_writable(each)), private_folder())


if __name__ == "__main__":
    importlib.import_module(engine_of(sys.argv[1]).module).compile_kernels()
    print(json.dumps({str(file): file.stat().st_size for file in kept_files()}))
