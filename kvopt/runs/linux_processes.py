"""Processes that end with their parent or have low priority, as Linux knows them."""

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: Added to the nice value of low priority: two processes on two cores leave it a tenth of one.
_NICENESS = 10
_LIBC = ctypes.CDLL(None)


def end_with_parent(parent: int) -> None:
    """Have Linux kill this process when its parent, known by process id, ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform == "linux" and os.getppid() != parent:
        os._exit(1)  # it went before


def adopt_orphans() -> None:
    """Have Linux put every process below this one whose parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def lower_priority() -> None:
    """Let others have the cores first; Linux may share them between sessions before processes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(os.nice(_NICENESS)), encoding="ascii")


def occupy_streams() -> None:
    """Open closed standard streams, lest a pipe takes their place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            _LIBC.prctl(option, value, 0, 0, 0)
