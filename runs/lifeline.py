"""A process that works for another ends with it, whatever ends the other."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """End this process when the parent is gone; the parent holds its standard input open.

    Standard input must have been read as far as the parent writes to it.
    """
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()
    # The thread never gets its turn while a library holds the interpreter's lock; Linux can kill
    # all the same.
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _exit_at_end_of_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(1)
