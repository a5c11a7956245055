"""Watches the process of one run: hands on what it sends, and stops it at its limits."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from heuristics.kernel_compiler import compiling_pays
from kvopt.runs.events import Compiling, CustomFileLoading, Event, Ready
from kvopt.runs.process import Ending, Process, ProcessOutcome, watch_process
from kvopt.runs.state import RunState
from kvopt.runs.task import Task

#: Seconds from the start of a process to the end of its imports, at most.
START_SECONDS = 600.0
#: The function of a run's process.
WORKER = "kvopt.runs.worker:run"
#: Bytes of the longest event, and what each request adds: starts, attempts and their certificates.
_LONGEST_LINE, _BYTES_A_REQUEST = 64_000_000, 1_000


@dataclass(frozen=True)
class RunSnapshot:
    """Snapshot for a listener, ten times a second and with every event.

    ``compiling`` are the seconds of compiling in a start that goes on, ``kernels`` counts compiled
    units and all units.  ``ended``: no other snapshot follows.
    """

    state: RunState
    compiling: float = 0.0
    kernels: tuple[int, int] = (0, 0)
    ended: bool = False


Listener = Callable[[RunSnapshot], None]


@dataclass
class SupervisedRun:
    """A run that has ended; seconds to the end of its imports (with compiling), and after it."""

    state: RunState
    outcome: ProcessOutcome
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
) -> SupervisedRun:
    """Run a task in a separate process until it ends, or is killed at a limit or by Ctrl-C.

    ``limit`` counts seconds from the end of its imports, and before that from the import of a
    custom file.  ``kill_at`` ends it in any case (``time.monotonic``, and its seconds of compiling
    more).  When ``stop`` is set, it is killed and counts as interrupted.  An OSError: the machine
    has no process or no memory left.
    """
    assert task.instance is not None
    method = task.method
    own = method.kind == "file"
    state = RunState(task.instance, method.text, own=own, batch_time=task.batch_time)
    run = _Run(process_of(task), state, limit, kill_at, stop or threading.Event(), listen)
    outcome = watch_process(run.process, run.take, run.over)
    if run.process.strange:
        state.add_note(f"{run.process.strange} lines on its channel were no events")
    run.show()
    ready = outcome.seconds if run.ready is None else run.ready
    return SupervisedRun(state, outcome, ready, outcome.seconds - ready, run.spent_compiling())


def process_of(task: Task, *, yields: bool = False) -> Process:
    """Start the process of a task, with numba if it, or a run of the same sweep, needs it."""
    assert task.instance is not None
    method, n = task.method, len(task.instance)
    kernels = method.call is not None and (method.advised or method.call.policy.warm_up is not None)
    compiles = method.kind == "engine" and method.solves in ("bound", "search")
    compiler = kernels or (bool(task.code) and (compiles or compiling_pays(n)))
    longest = _LONGEST_LINE + _BYTES_A_REQUEST * n
    return Process(WORKER, task.to_line(), task.memory_limit, longest, compiler, yields=yields)


@dataclass
class _Run:
    """A run that is watched; ``ready``, ``own_file`` and ``compiling`` are ages of its process.

    They are the end of its imports, the import of its custom file, and the start of compiling.
    """

    process: Process
    state: RunState
    limit: float
    kill_at: float | None
    stop: threading.Event
    listen: Listener
    ready: float | None = None
    own_file: float | None = None
    compiling: float | None = None
    compiled: float = 0.0
    kernels: tuple[int, int] = (0, 0)

    def over(self) -> Ending | None:
        """Show the listener the run, and return how the run must end, if it must."""
        self.show()
        if self.state.done:
            return "finished"
        if self.stop.is_set():
            return "interrupted"
        if self.process.exceeds_memory():
            return "memory_limit"
        return "time_limit" if self._is_late() else None

    def _is_late(self) -> bool:
        begin, limit = self.ready, self.limit
        if begin is None:
            begin, limit = self.own_file or 0.0, START_SECONDS if self.own_file is None else limit
        late = self.process.age() - begin > limit
        if late and self.ready is None:
            self.state.add_note(f"the imports took more than {limit:g} s")
        if late or self.kill_at is None:
            return late
        return time.monotonic() > self.kill_at + self.spent_compiling()

    def spent_compiling(self) -> float:
        """Return the seconds that compiling has taken before the clock of the run started."""
        goes_on = 0.0 if self.compiling is None else self.process.age() - self.compiling
        return self.compiled + goes_on

    def show(self) -> None:
        compiling = self.spent_compiling() if self.ready is None else 0.0
        self.listen(RunSnapshot(self.state, compiling, self.kernels))

    def take(self, event: Event) -> None:
        # A method may send these, too, and must not set its clock.
        if self.ready is None:
            self._start(event)
        self.state.take(event)

    def _start(self, event: Event) -> None:
        """Take an event of the start."""
        now, spent = self.process.age(), self.spent_compiling()
        if isinstance(event, Compiling) and event.of:
            self.kernels = event.done, event.of
        if isinstance(event, Ready):
            self.ready = now
        elif self.own_file is not None or not isinstance(event, CustomFileLoading | Compiling):
            return
        elif isinstance(event, CustomFileLoading):
            self.own_file = now
        goes_on = isinstance(event, Compiling) and event.goes_on
        self.compiled, self.compiling = spent, now if goes_on else None
