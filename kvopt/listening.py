"""What a caller is told while a method runs: lines, or calls of a function of its own."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kvopt.runs.supervise import Listener, Snapshot
from kvopt.terminal import CompilingLine, ProgressLines


@dataclass(frozen=True)
class Progress:
    """What is known of a run so far.

    Attributes
    ----------
    seconds
        Since the call.
    tel
        TEL of the best schedule (rounds); None without one.
    bound
        The integer that no TEL is below (rounds); None without one.
    gap
        (TEL − bound) / TEL; None where either is missing.
    kernels
        How many are compiled, of how many that the run needs; the first time on a machine only.
    """

    seconds: float
    tel: int | None
    bound: int | None
    gap: float | None
    kernels: tuple[int, int] = (0, 0)


def listener(progress: bool | Callable[[Progress], object], stop: threading.Event) -> Listener:
    """Return what ``execute`` is to call.

    Parameters
    ----------
    progress
        True for the lines that ``solve.py`` prints; or a function, called at every improvement, and
        for every kernel that is compiled; False for nothing but what compiling takes, once on a
        machine, on standard error.
    stop
        Set when that function raises, which ends the run; see :class:`Calls`.
    """
    if callable(progress):
        return Calls(progress, stop)
    if progress:
        return ProgressLines(sys.stdout, time.monotonic(), quiet=False)
    return CompilingLine(sys.stderr)


@dataclass
class Calls:
    """Calls a function at every improvement of schedule or bound, and for every kernel.

    ``error`` is what the function has raised.  It must not be raised amid the watching of a
    process, where it would count as a fault of kvopt's.
    """

    function: Callable[[Progress], object]
    stop: threading.Event
    error: Exception | None = None
    _started: float = field(default_factory=time.monotonic)
    _told: tuple[int | None, int | None, tuple[int, int]] = (None, None, (0, 0))

    def __call__(self, snapshot: Snapshot) -> None:
        """Tell the function if anything has improved."""
        state = snapshot.state
        tel = None if state.schedule is None else state.schedule.tel
        told = tel, state.lower_bound, snapshot.kernels
        if told == self._told or self.error is not None:
            return
        self._told = told
        seconds = time.monotonic() - self._started
        try:
            self.function(Progress(seconds, tel, state.lower_bound, state.gap, snapshot.kernels))
        except Exception as error:
            self.error = error
            self.stop.set()
