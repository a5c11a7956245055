"""Processes that have begun, and wait on their standard input for what they are to do.

A command that solves begins one before its own imports: both import at once, on two cores.  Nothing
heavy is imported here.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time

from kvopt.places import python_path
from support.checkout import CHECKOUT, ROOT

#: The module that carries out tasks.
WORKER = "kvopt.runs.worker"


class Begun:
    """A Python module in a process of its own, below its reaper (``kvopt.runs.reaper``).

    Attributes
    ----------
    module
        What is run.
    started
        When it began, on the clock of ``time.monotonic``.
    process
        The reaper.
    lifeline
        The descriptor that keeps it alive: at its end all below the reaper is killed.
    events, printed
        Descriptors of what it writes to standard output and to standard error.
    """

    def __init__(self, module: str) -> None:
        self.module, self.started = module, time.monotonic()
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            mine: list[int] = []
            given: list[int] = []
            for reads in (False, False, True, True):
                ends = os.pipe() if reads else os.pipe()[::-1]
                for end, kept, stack in zip(ends, (mine, given), (ours, theirs), strict=True):
                    kept.append(end)
                    stack.callback(os.close, end)
            lifeline, *streams = given
            self.process = _reaped(module, lifeline, streams)
            ours.pop_all()
        self.lifeline, written, self.events, self.printed = mine
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=_write, args=[written, self._lines], daemon=True).start()

    def hand(self, lines: str) -> None:
        """Hand it lines; nobody waits for a process that does not read."""
        self._lines.put(lines)

    def hand_no_more(self) -> None:
        """End its standard input after what was handed to it."""
        self._lines.put(None)


def _write(descriptor: int, lines: queue.SimpleQueue[str | None]) -> None:
    with contextlib.suppress(OSError), os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        while (each := lines.get()) is not None:
            stream.write(each)
            stream.flush()


def _reaped(module: str, lifeline: int, streams: list[int]) -> subprocess.Popen[bytes]:
    """Start a module below its reaper, with its standard input, output and error."""
    return subprocess.Popen(
        # -P: nothing of the current folder is taken for one of the project's modules.
        [sys.executable, "-P", "-m", "kvopt.runs.reaper", str(lifeline), module],
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        cwd=ROOT if CHECKOUT else None,
        # Matrices are small; with more threads patterns are priced ten times slower.
        env={"OPENBLAS_NUM_THREADS": "1"}
        | os.environ
        # Pyomo cannot be imported without docstrings.
        | {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1", "PYTHONOPTIMIZE": ""},
        start_new_session=True,
        pass_fds=[lifeline],
    )


_ahead: list[Begun] = []


def begin_ahead() -> None:
    """Begin the process of the first task of this command, which is yet to be read."""
    with contextlib.suppress(
        OSError, RuntimeError
    ):  # then it begins with its task, which tells what is wrong
        _ahead.append(Begun(WORKER))


def begun(module: str) -> Begun:
    """Return a process that runs a module: the one that has begun ahead, or else a new one.

    Raises
    ------
    OSError
        If the machine has no process or no memory left for it.
    """
    return _ahead.pop() if _ahead and module == WORKER else Begun(module)
