"""A time limit for code that runs in this process: policies, which start no engine."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn


class TimeLimitError(Exception):
    """The time limit is over."""


@contextlib.contextmanager
def until(deadline: float) -> Iterator[None]:
    """Raise ``TimeLimitError`` inside the block when the deadline is over.

    It works by an interval timer, so in the main thread and where the system has one (not on
    Windows); elsewhere there is no limit.  Compiled code is interrupted as soon as it returns.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``, seconds.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise(signum: int, frame: FrameType | None) -> NoReturn:
    del signum, frame
    raise TimeLimitError("the time limit is over")
