"""What only Linux can promise: a process that ends with its parent; how old a process is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def end_with(parent: int) -> None:
    """Have Linux kill this process when its parent, known by process id, ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform == "linux" and os.getppid() != parent:
        os._exit(1)  # it went before it could be told of


def adopt_orphans() -> None:
    """Have Linux put every process below this one whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def process_age() -> float:
    """Return the seconds since this process was started, 0 where the system does not tell."""
    try:
        # The command stands in parentheses and may hold anything; the start is the 22nd field.
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def occupy_streams() -> None:
    """Open what was closed of standard input, output and error, lest a pipe takes its place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
