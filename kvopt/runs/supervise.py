"""Watches the process of one run: hands on what it sends, and stops it at its limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from heuristics.compiled import pays
from kvopt.runs.events import Compiling, Event, OwnFile, Ready
from kvopt.runs.process import Ending, Outcome, Process, watch
from kvopt.runs.state import RunState
from kvopt.runs.task import Task

#: How long a process may take from its start to the end of its imports.
START_SECONDS = 600.0
#: What is called in the process of a run.
WORKER = "kvopt.runs.worker:run"
#: Bytes of the longest event, and what each request adds: starts, attempts and their certificates.
_LONGEST_LINE, _BYTES_A_REQUEST = 64_000_000, 1_000


@dataclass(frozen=True)
class Snapshot:
    """Snapshot for a listener, ten times a second and with every event.

    ``compiling`` are the seconds of compiling in a start that goes on, ``kernels`` how many are
    there, of how many.  ``ended``: no other snapshot follows.
    """

    state: RunState
    compiling: float = 0.0
    kernels: tuple[int, int] = (0, 0)
    ended: bool = False


Listener = Callable[[Snapshot], None]


@dataclass
class Supervised:
    """A run that has ended; seconds to the end of its imports (with compiling), and after it."""

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

    ``limit`` counts seconds from the end of its imports, and before that from the import of a
    custom file.  ``kill_at`` ends it in any case (``time.monotonic``, and its seconds of compiling
    more).  When ``stop`` is set, it is killed and counts as interrupted.

    Raises
    ------
    OSError
        If the machine has no process or no memory left for it.
    """
    run = _Run(task, limit, kill_at, stop or threading.Event(), listen)
    outcome = watch(run.process, run.take, run.over)
    if run.process.strange:
        run.state.tell(f"{run.process.strange} lines on its channel were no events")
    run.look()
    ready = outcome.seconds if run.ready is None else run.ready
    return Supervised(run.state, outcome, ready, outcome.seconds - ready, run.spent_compiling())


def process_of(task: Task) -> Process:
    """Start the process of a task."""
    assert task.instance is not None
    longest = _LONGEST_LINE + _BYTES_A_REQUEST * len(task.instance)
    return Process(WORKER, task.to_line(), task.memory_limit, longest, _needs_compiler(task))


def _needs_compiler(task: Task) -> bool:
    """Tell whether this run needs the compiler, or is one of many of which some do."""
    assert task.instance is not None
    method, stored = task.method, bool(task.code)
    kernels = method.call is not None and (method.advised or method.call.policy.warm_up is not None)
    compiles = method.kind == "engine" and method.solves in ("bound", "search")
    return kernels or (stored and (compiles or pays(len(task.instance))))


class _Run:
    """A run that is watched; ``ready`` and what compiling took are ages of its process, seconds."""

    def __init__(
        self,
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
        #: When its own file was to be imported, and since when kernels are being compiled.
        self._own_file: float | None = None
        self._compiling: float | None = None
        self._compiled = 0.0
        self._kernels = (0, 0)
        self._limit, self._kill_at, self._stop, self._listen = limit, kill_at, stop, listen
        self.process = process_of(task)

    def over(self) -> Ending | None:
        """Tell the listener what is known, and return how the run must end, if it must."""
        self.look()
        if self.state.done:
            return "finished"
        if self._stop.is_set():
            return "interrupted"
        if self.process.exceeds_memory():
            return "memory_limit"
        return "time_limit" if self._is_late() else None

    def _is_late(self) -> bool:
        age = self.process.age()
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
        goes_on = 0.0 if self._compiling is None else self.process.age() - self._compiling
        return self._compiled + goes_on

    def look(self) -> None:
        """Tell the listener what is known."""
        compiling = self.spent_compiling() if self.ready is None else 0.0
        self._listen(Snapshot(self.state, compiling, self._kernels))

    def take(self, event: Event) -> None:
        """Take an event."""
        # A method may send these, too, and must not set its own clock.
        if self.ready is None:
            self._start(event)
        self.state.take(event)

    def _start(self, event: Event) -> None:
        """Take note of how the start gets on."""
        now, spent = self.process.age(), self.spent_compiling()
        if isinstance(event, Compiling) and event.of:
            self._kernels = event.done, event.of
        if isinstance(event, Ready):
            self.ready = now
        elif self._own_file is not None or not isinstance(event, OwnFile | Compiling):
            return
        elif isinstance(event, OwnFile):
            self._own_file = now
        goes_on = isinstance(event, Compiling) and event.goes_on
        self._compiled, self._compiling = spent, now if goes_on else None
