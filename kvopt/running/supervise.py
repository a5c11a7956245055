"""Watches the process of one run: hands on what it sends, and stops it at its limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kvopt.running.job import Event
from kvopt.running.process import Ending, Outcome, Process
from kvopt.running.task import Task
from kvopt.running.verdict import Account

#: How long a process may take from its start to the end of its imports.
START_SECONDS = 120.0
_POLL_SECONDS = 0.1

#: Called with what is known of a run so far, ten times a second and whenever an event has come.
Listener = Callable[[Account], None]


@dataclass
class Supervised:
    """A run that has ended.

    Attributes
    ----------
    account
        What it has shown.
    outcome
        How its process ended, and what it cost.
    start_seconds, seconds
        From the start of the process to the end of its imports, and from there to its end.
    """

    account: Account
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
        When it is killed in any case, on the clock of ``time.monotonic``; the time that it takes
        to compile code which later runs load is added.
    stop
        When it is set, the run is killed and counts as interrupted.

    Raises
    ------
    OSError
        If the machine has no process or no memory left for it.
    """
    assert task.instance is not None
    process = Process("kvopt.running.child", task.to_line(), task.memory_limit, len(task.instance))
    watch = _Watch(process, task, limit, kill_at, stop or threading.Event(), listen)
    outcome = watch.run()
    ready = watch.end if watch.ready is None else watch.ready
    return Supervised(watch.account, outcome, ready, watch.end - ready)


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
        self.account = Account(task.instance, task.method)
        self.ready: float | None = None
        self.end = 0.0
        self._process, self._limit, self._kill_at = process, limit, kill_at
        self._stop, self._listen = stop, listen
        self._compiling: float | None = None

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
            self.account.tell(f"{self._process.strange} lines on its pipe were no events")
        self._listen(self.account)
        return outcome

    def _wait(self) -> Ending:
        while self._process.take(self._take, _POLL_SECONDS) and not self.account.done:
            self._listen(self.account)
            age = self._process.age()
            if self._stop.is_set():
                return "interrupted"
            if self._process.exceeds_memory():
                return "memory_limit"
            if self.ready is None and age > START_SECONDS:
                self.account.tell(f"the imports took more than {START_SECONDS:g} s")
                return "time_limit"
            if self.ready is not None and age - self.ready > self._limit:
                return "time_limit"
            late = self._kill_at is not None and time.monotonic() > self._kill_at
            if late and self._compiling is None:
                return "time_limit"
        return "finished"

    def _take(self, event: Event) -> None:
        # Once each: a method may send them too, and must not set its own clock.
        if event.kind == "compiling" and self.ready is None:
            self._compiling = self._compiling or self._process.age()
        elif event.kind == "ready" and self.ready is None:
            self.ready = self._process.age()
            if self._compiling is not None and self._kill_at is not None:
                self._kill_at += self.ready - self._compiling
            self._compiling = None
        self.account.take(event)
