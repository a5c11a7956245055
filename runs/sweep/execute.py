"""Carries out one task in a process of its own; whatever happens there ends as a row."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import cache

from runs.job import Event
from runs.process import Ending, Outcome, Process
from runs.sweep.fingerprint import fingerprint, versions
from runs.sweep.methods import MethodError, read_method
from runs.sweep.row import Cost, faulty, finished
from runs.sweep.task import Finished, Task
from runs.sweep.telling import where_and_what
from runs.sweep.verdict import Account

#: A run is killed when it exceeds its time limit by this share and these seconds.
GRACE_SHARE = 0.1
GRACE_SECONDS = 2.0
#: How long a process may take from its start to the end of its imports.
START_SECONDS = 120.0
_POLL_SECONDS = 0.1


class InterruptedRunError(Exception):
    """The run was stopped by the caller; there is nothing to be stored."""


def execute(task: Task, stop: threading.Event | None = None) -> Finished:
    """Carry out a task and return its row; whatever goes wrong in the run is a row too.

    The method has ``task.time_limit`` seconds from the end of its imports.  Its process and all
    that this has started are killed a tenth and two seconds later, or when together they hold more
    memory than the limit.

    Parameters
    ----------
    stop
        When it is set, the run is killed.

    Raises
    ------
    InterruptedRunError
        If ``stop`` was set before the run had ended.
    """
    started = time.monotonic()
    try:
        return _execute(task, stop or threading.Event(), started)
    except InterruptedRunError:
        raise
    except Exception as error:
        # A fault of ours is no reason to lose the other runs either.
        return faulty(task, f"kvopt itself failed: {where_and_what(error)}", "error", started)


def _execute(task: Task, stop: threading.Event, started: float) -> Finished:
    if task.fault:
        return faulty(task, task.fault, task.fault_status, started)
    if reason := difference(task):
        return faulty(task, reason, "error", started)
    assert task.instance is not None
    try:
        process = Process("runs.sweep.child", task.to_line(), task.memory_limit, len(task.instance))
    except OSError as error:
        # The machine has no process or no memory left for it; the sweep goes on.
        return faulty(task, f"no process could be started: {error.strerror}", "error", started)
    supervisor = _Supervisor(process, task, stop)
    outcome = supervisor.run()
    if outcome.ending == "interrupted":
        raise InterruptedRunError
    return finished(task, supervisor.account, outcome, supervisor.cost(started))


@dataclass
class _Supervisor:
    """Watches one process; ages are seconds since its start."""

    process: Process
    task: Task
    stop: threading.Event

    def __post_init__(self) -> None:
        assert self.task.instance is not None
        self.account = Account(self.task.instance, self.task.method)
        self._ready: float | None = None
        self._end = 0.0

    def run(self) -> Outcome:
        """Wait for the end of the process, or bring it about at a limit."""
        ending: Ending = "interrupted"
        try:
            ending = self._watch()
            self._end = self.process.age()
        finally:
            outcome = self.process.close(ending, self._take)
        return outcome

    def cost(self, started: float) -> Cost:
        """Return what the run took, after its end; ``started`` is on the monotonic clock."""
        ready = self._end if self._ready is None else self._ready
        return Cost(ready, self._end - ready, started)

    def _watch(self) -> Ending:
        limit = self.task.time_limit * (1 + GRACE_SHARE) + GRACE_SECONDS
        while self.process.take(self._take, _POLL_SECONDS) and not self.account.done:
            age = self.process.age()
            if self.stop.is_set():
                return "interrupted"
            if self.process.exceeds_memory():
                return "memory_limit"
            if self._ready is None and age > START_SECONDS:
                self.account.notes.append(f"the imports took more than {START_SECONDS:g} s")
                return "time_limit"
            if self._ready is not None and age - self._ready > limit:
                return "time_limit"
        return "finished"

    def _take(self, event: Event) -> None:
        if event.kind == "ready":
            self._ready = self.process.age()
        self.account.take(event)


def difference(task: Task) -> str:
    """Return one line if sources or libraries are not those for which the task was planned.

    Empty if they are.
    """
    try:
        method = read_method(task.method, planned=True)
        if fingerprint(method) != task.code:
            return "the sources were edited since the sweep began, or are others on this machine"
        here = _versions(task.method)
    except (MethodError, OSError, SyntaxError) as error:
        return f"{task.method}: {' '.join(str(error).split())}"
    return ", ".join(
        f"{name} {here.get(name, 'missing')} on this machine, the sweep began with {version}"
        for name, version in task.versions.items()
        if here.get(name) != version
    )


@cache
def _versions(method: str) -> dict[str, str]:
    return versions(read_method(method, planned=True))
