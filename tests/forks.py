"""Processes of runs as forks of one that has imported what they need: a tenth of their start.

``multiprocessing`` keeps that process.  A fork is what an interpreter is that has just begun a run:
a process of its own, with its own folder, environment and streams.  Only what it imports is there
already, no engine among it, which no two of them share.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
from multiprocessing import connection, resource_tracker
from multiprocessing.reduction import DupFd
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any, NoReturn

_SERVED = multiprocessing.get_context("forkserver")
_SERVED.set_forkserver_preload(["kvopt.runs.reaper", "kvopt.runs.worker", "pytest"])
#: An exit code is read once, and where two threads ask at once, the second one is told 255.  Who
#: starts a process asks for the codes of all others.
_ASKED = Lock()


class Fork:
    """What ``subprocess.Popen`` is of ``python -P -m kvopt.runs.reaper FD MODULE``."""

    def __init__(
        self,
        command: list[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int,
        cwd: Path | None,
        env: dict[str, str],
        start_new_session: bool,
        pass_fds: list[int],
    ) -> None:
        assert command[1:4] == ["-P", "-m", "kvopt.runs.reaper"]
        assert start_new_session
        handed = _Handed([stdin, stdout, stderr, *pass_fds])
        given = (command[-1], str(cwd or Path.cwd()), env, handed)
        self._process = _SERVED.Process(target=_keep, args=given)
        with _ASKED:
            self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, as ``Popen`` tells it."""
        with _ASKED:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, as ``Popen`` does."""
        connection.wait([self._process.sentinel], timeout)
        if (code := self.returncode) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code


#: What ``kvopt.runs.begun`` finds in place of ``subprocess`` where runs are forks.
OF_RUNS = SimpleNamespace(Popen=Fork, TimeoutExpired=subprocess.TimeoutExpired)


class _Handed(list[int]):
    """Descriptors of this process that another one gets, under its own numbers."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, tuple(map(DupFd, self))


def _received(*handed: Any) -> list[int]:
    return [each.detach() for each in handed]


def _keep(module: str, cwd: str, env: dict[str, str], handed: list[int]) -> NoReturn:
    """Be the reaper of a run."""
    from kvopt.runs.reaper import main

    os.setsid()
    # What it leaves behind is not told of by the tracker of the tests' process.
    vars(resource_tracker._resource_tracker)["_fd"] = None
    *streams, lifeline = handed
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    for number, name in ((1, "stdout"), (2, "stderr")):
        written = os.fdopen(number, "wb", 0, closefd=False)
        text = io.TextIOWrapper(written, errors="backslashreplace", write_through=True)
        setattr(sys, name, text)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["reaper", str(lifeline), module]
    # It is run as if it had not been imported.
    sys.modules.pop(module, None)
    main()
