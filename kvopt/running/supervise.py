"""Watches the process of one run: hands on what it sends, and stops it at its limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kvopt.running.events import Event, Ready
from kvopt.running.limits import late_start
from kvopt.running.process import Ending, Outcome, Process
from kvopt.running.state import RunState
from kvopt.running.task import Task

#: How long a process may take from its start to the end of its imports.
START_SECONDS = 600.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Look:
    """What a listener is shown ten times a second and whenever an event has come.

    ``uncounted`` is what a start that goes on has taken so far that no deadline counts (seconds).
    """

    state: RunState
    uncounted: float


Listener = Callable[[Look], None]


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
    """

    state: RunState
    outcome: Outcome
    start_seconds: float
    seconds: float


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
        Seconds that it may take from the end of its imports.
    kill_at
        When it is killed in any case, on the clock of ``time.monotonic``; what
        ``limits.late_start`` says of its start is added.
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
    return Supervised(watch.state, outcome, ready, watch.end - ready)


class _Watch:
    """Watches one process; ``ready`` and ``end`` are ages of it in seconds."""

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
        self._process, self._limit, self._kill_at = process, limit, kill_at
        self._task = task
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
        start = age if self.ready is None else self.ready
        if self.ready is None and age > START_SECONDS:
            self.state.tell(f"the imports took more than {START_SECONDS:g} s")
            return True
        if self.ready is not None and age - self.ready > self._limit:
            return True
        if self._kill_at is None:
            return False
        return time.monotonic() > self._kill_at + late_start(self._task, start)

    def _look(self) -> None:
        goes_on = self.ready is None
        uncounted = late_start(self._task, self._process.age()) if goes_on else 0.0
        self._listen(Look(self.state, uncounted))

    def _take(self, event: Event) -> None:
        # Once: a method may send it too, and must not set its own clock.
        if isinstance(event, Ready) and self.ready is None:
            self.ready = self._process.age()
        self.state.take(event)
