"""Watches the process of one run: hands on what it sends, and stops it at its limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kvopt.runs.events import Compiling, Event, OwnFile, Ready
from kvopt.runs.process import Ending, Outcome, Process
from kvopt.runs.state import RunState
from kvopt.runs.task import Task

#: How long a process may take from its start to the end of its imports.
START_SECONDS = 600.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Snapshot:
    """What a listener is shown ten times a second and whenever an event has come.

    ``compiling`` is what compiling has taken so far of a start that goes on, which no deadline
    counts (seconds); ``kernels`` are how many are there, of how many.  ``ended`` says that no
    other snapshot follows.
    """

    state: RunState
    compiling: float = 0.0
    kernels: tuple[int, int] = (0, 0)
    ended: bool = False


Listener = Callable[[Snapshot], None]


@dataclass
class Supervised:
    """A run that has ended.

    Attributes
    ----------
    state
        What it has shown.
    outcome
        How its process ended, and what it cost.
    start_seconds, seconds
        From the start of the process to the end of its imports, and from there to its end.
    compiling
        Seconds of the start that went into compiling, which no limit counts.
    """

    state: RunState
    outcome: Outcome
    start_seconds: float
    seconds: float
    compiling: float = 0.0


def supervise(
    task: Task,
    limit: float,
    *,
    kill_at: float | None = None,
    stop: threading.Event | None = None,
    listen: Listener = lambda _: None,
) -> Supervised:
    """Run a task in a process of its own until it ends, or is killed at a limit or by Ctrl-C.

    Parameters
    ----------
    limit
        Seconds that it may take from the end of its imports, and before that the import of a file
        of one's own.
    kill_at
        When it is killed in any case, on the clock of ``time.monotonic``; what compiling kernels
        has taken of its start is added.
    stop
        When it is set, the run is killed and counts as interrupted.

    Raises
    ------
    OSError
        If the machine has no process or no memory left for it.
    """
    watch = _Watch(Process.of(task), task, limit, kill_at, stop or threading.Event(), listen)
    outcome = watch.run()
    ready = watch.end if watch.ready is None else watch.ready
    return Supervised(watch.state, outcome, ready, watch.end - ready, watch.spent_compiling())


class _Watch:
    """Watches one process; ``ready`` and ``end`` are ages of it in seconds, and so is the like."""

    def __init__(
        self,
        process: Process,
        task: Task,
        limit: float,
        kill_at: float | None,
        stop: threading.Event,
        listen: Listener,
    ) -> None:
        assert task.instance is not None
        method = task.method
        own = method.kind == "file"
        self.state = RunState(task.instance, method.text, own=own, batch_time=task.batch_time)
        self.ready: float | None = None
        self.end = 0.0
        #: When its own file was to be imported, and since when kernels are being compiled.
        self._own_file: float | None = None
        self._compiling: float | None = None
        self._compiled = 0.0
        self._kernels = (0, 0)
        self._process, self._limit, self._kill_at = process, limit, kill_at
        self._stop, self._listen = stop, listen

    def run(self) -> Outcome:
        """Wait for the end of the process, or bring it about."""
        ending: Ending = "interrupted"
        try:
            ending = self._wait()
        except KeyboardInterrupt:
            pass
        finally:
            self.end = self._process.age()
            outcome = self._process.close(ending, self._take)
        if self._process.strange:
            self.state.tell(f"{self._process.strange} lines on its pipe were no events")
        self._look()
        return outcome

    def _wait(self) -> Ending:
        while self._process.take(self._take, _POLL_SECONDS) and not self.state.done:
            self._look()
            if self._stop.is_set():
                return "interrupted"
            if self._process.exceeds_memory():
                return "memory_limit"
            if self._is_late():
                return "time_limit"
        return "finished"

    def _is_late(self) -> bool:
        age = self._process.age()
        if self.ready is not None:
            late = age - self.ready > self._limit
        else:
            began, limit = 0.0, START_SECONDS
            if self._own_file is not None:
                began, limit = self._own_file, self._limit
            late = age - began > limit
            if late:
                self.state.tell(f"the imports took more than {limit:g} s")
        if late or self._kill_at is None:
            return late
        return time.monotonic() > self._kill_at + self.spent_compiling()

    def spent_compiling(self) -> float:
        """Return the seconds that compiling has taken before the clock of the run started."""
        goes_on = 0.0 if self._compiling is None else self._process.age() - self._compiling
        return self._compiled + goes_on

    def _look(self) -> None:
        compiling = self.spent_compiling() if self.ready is None else 0.0
        self._listen(Snapshot(self.state, compiling, self._kernels))

    def _take(self, event: Event) -> None:
        # Until the file of one's own is imported: a method may send these, too, and must not set
        # its own clock.
        if self.ready is None:
            self._start(event)
        self.state.take(event)

    def _start(self, event: Event) -> None:
        """Take note of how the start gets on."""
        now = self._process.age()
        if isinstance(event, Compiling) and event.of:
            self._kernels = event.done, event.of
        if isinstance(event, Ready):
            self.ready = now
        elif self._own_file is not None:
            return
        elif isinstance(event, OwnFile):
            self._own_file = now
        elif isinstance(event, Compiling) and event.goes_on != (self._compiling is not None):
            self._compiled, self._compiling = (
                self.spent_compiling(),
                now if event.goes_on else None,
            )
            return
        else:
            return
        self._compiled, self._compiling = self.spent_compiling(), None
