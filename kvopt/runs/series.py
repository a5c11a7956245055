"""Runs many policies on one instance in one process, and in a new one where a policy is lost.

A process of its own for each would be ten to a hundred times its work.  Every policy has limits of
its own all the same: at its share of the time, or where it eats memory or dies, its process is
killed, and those that wait go on in a new one.  What policies send is checked here as it comes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kvopt.runs.events import Begun, Compiling, Event, Ready
from kvopt.runs.limits import LEAST_SHARE, share_ends
from kvopt.runs.process import Ending, Outcome, Process
from kvopt.runs.row import faulty, finished
from kvopt.runs.state import RunState
from kvopt.runs.supervise import START_SECONDS, Snapshot, Supervised
from kvopt.runs.task import Finished, Task
from support.machine import lacking

_POLL_SECONDS = 0.1
#: Endings that the methods before in the same process may be to blame for.
_MAYBE_OF_OTHERS: tuple[Ending, ...] = ("memory_limit", "crashed")


class Series:
    """Methods on one instance, one after the other.

    Parameters
    ----------
    tasks
        Of one instance, seed and deadline, one a method.
    deadline
        When the last must have ended, on the clock of ``time.monotonic``; what compiling kernels
        takes before a method begins is added.
    listen
        Called with what is known so far of the method that runs, some times a second.
    first_whole
        Whether the first may take all the time.

    Attributes
    ----------
    waiting
        The tasks that have not begun, or were not through when the time was over.
    interrupted
        Whether Ctrl-C has ended it; all results so far have been yielded.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        deadline: float,
        listen: Callable[[Task, Snapshot], object] = lambda _task, _snapshot: None,
        *,
        first_whole: bool = False,
    ) -> None:
        self._listen = listen
        self._whole = tasks[0] if first_whole else None
        self.waiting = deque(tasks)
        self.interrupted = False
        self._deadline = deadline
        self._advice: list[float] | None = None

    def run(self) -> Iterator[Finished]:
        """Yield what becomes of every method as it comes, as long as there is time."""
        while self.waiting and not self.interrupted and self._left() > LEAST_SHARE:
            first = replace(self.waiting[0], deadline=self._deadline, expected_starts=self._advice)
            try:
                tasks = list(self.waiting)
                worker = _Worker(first, tasks, self._deadline, self._listen, self._whole)
            except (OSError, RuntimeError) as error:
                task = self.waiting.popleft()
                reason = f"no process could be started: {lacking(error) or error}"
                yield faulty(task, reason, "error", time.monotonic())
                continue
            yield from self._results_of(worker)

    def _results_of(self, worker: _Worker) -> Iterator[Finished]:
        for found in worker.results():
            self.waiting.popleft()
            self._advice = self._advice or found.expected_starts
            yield found
        self._deadline = worker.deadline
        # One that is to begin again in a process that no other has used still waits.
        if worker.lost is not None and not worker.again:
            if worker.lost.record.ending == "time_limit" and self._left() <= 0:
                return
            self.waiting.popleft()
            yield worker.lost
        self.interrupted = worker.interrupted

    def _left(self) -> float:
        return self._deadline - time.monotonic()


class _Worker:
    """One process, and the method that runs in it.

    Attributes
    ----------
    deadline
        Put off by what compiling took.
    lost
        What became of the method that ended the process, or was interrupted; None without one.
    again
        Whether that may have been the fault of the methods before it.
    interrupted
        Whether it was Ctrl-C.
    """

    def __init__(
        self,
        first: Task,
        tasks: Sequence[Task],
        deadline: float,
        listen: Callable[[Task, Snapshot], object],
        whole: Task | None,
    ) -> None:
        self._whole = whole
        self._process = Process.of(first, [task.method for task in tasks])
        self.deadline = deadline
        self.lost: Finished | None = None
        self.again = self.interrupted = False
        self._tasks, self._position, self._listen = tasks, 0, listen
        self._events: deque[Event] = deque()
        self._current = _Current(tasks[0])

    def results(self) -> Iterator[Finished]:
        """Yield what becomes of every method that the process outlives."""
        ending: Ending = "interrupted"
        try:
            while self._process.take(self._events.append, _POLL_SECONDS):
                yield from self._handled()
                self._listen(self._current.task, Snapshot(self._current.state))
                over = self._over()
                if over is not None or self._current.state.done:
                    ending = over or "finished"
                    break
            else:
                ending = "finished"
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            # Also where the caller asks for no more.
            outcome = self._process.close(ending, self._events.append)
        yield from self._handled()
        yield from self._end(outcome)

    def _handled(self) -> Iterator[Finished]:
        """Take the events that have come; yield the result of a method when the next begins."""
        while self._events:
            event = self._events.popleft()
            if isinstance(event, Begun):
                if self._follows(event):
                    yield self._current.finished(Outcome("finished", "", 0.0, 0))
                    self._position += 1
                    self._current = _Current(self._tasks[self._position])
                elif self._current.ready is None:
                    # That the first of the process begins was known; now its imports are done.
                    self._current.started = time.monotonic()
            elif isinstance(event, Compiling) and self._current.ready is None:
                self._current.compiles(event.goes_on)
            elif isinstance(event, Ready) and self._current.ready is None:
                self._make_ready()
            else:
                self._current.state.take(event)

    def _follows(self, event: Begun) -> bool:
        """Tell whether the next method begins; methods of one's own may send anything."""
        rest = self._tasks[self._position + 1 :]
        return bool(rest) and rest[0].method.text == event.method

    def _make_ready(self) -> None:
        task = self._current.task
        self._current.ready = now = time.monotonic()
        self.deadline += self._current.compiled
        waiting = 1 if task is self._whole else len(self._tasks) - self._position
        self._current.limit = share_ends(task, self.deadline - now, waiting)

    def _over(self) -> Ending | None:
        if self._process.exceeds_memory():
            return "memory_limit"
        now, current = time.monotonic(), self._current
        if current.ready is None:
            return "time_limit" if now - current.started > START_SECONDS else None
        return "time_limit" if now - current.ready > current.limit else None

    def _end(self, outcome: Outcome) -> Iterator[Finished]:
        """Yield the result of the last method, unless it was lost."""
        if outcome.ending == "finished" and self._current.ended:
            yield self._current.finished(outcome)
            return
        self.again = outcome.ending in _MAYBE_OF_OTHERS and self._position > 0
        self.lost = self._current.finished(outcome)


class _Current:
    """The method that runs: since when, for how long, and what it has shown."""

    def __init__(self, task: Task) -> None:
        assert task.instance is not None
        self.task = task
        self.started = time.monotonic()
        self.ready: float | None = None
        self.limit = task.time_limit
        #: Seconds that compiling took before it was ready, and since when it goes on.
        self.compiled = 0.0
        self._compiling: float | None = None
        self.state = RunState(
            task.instance,
            task.method.text,
            own=task.method.kind == "file",
            batch_time=task.batch_time,
        )

    def compiles(self, goes_on: bool) -> None:
        """Take note that kernels are being compiled, or are no more."""
        now = time.monotonic()
        if self._compiling is not None:
            self.compiled += now - self._compiling
        self._compiling = now if goes_on else None

    @property
    def ended(self) -> bool:
        """Whether it has come to its end, with a schedule or a reason."""
        return self.state.schedule is not None or bool(self.state.failure or self.state.refused)

    def finished(self, outcome: Outcome) -> Finished:
        """Return its row; nothing of the process's output is its own, unless it ended that."""
        now = time.monotonic()
        ready = now if self.ready is None else self.ready
        self.state.end(outcome)
        task = replace(self.task, time_limit=round(self.limit, 3))
        began = ready - self.started
        run = Supervised(self.state, outcome, began, now - ready, self.compiled)
        return finished(task, run, self.started)
