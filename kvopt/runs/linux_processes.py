"""Processes that end with their parent, on Linux only."""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None)


def end_with_parent(parent: int) -> None:
    """Have Linux kill this process when its parent, known by process id, ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform == "linux" and os.getppid() != parent:
        os._exit(1)  # it went before


def adopt_orphans() -> None:
    """Have Linux put every process below this one whose parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


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
