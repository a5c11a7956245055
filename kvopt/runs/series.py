"""Runs many policies on one instance within one time limit.

Each is a run of its own and has a share of the time.  The relaxation that several are advised by is
solved once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial

from kvopt.runs.execute import InterruptedRunError, execute
from kvopt.runs.limits import LEAST_SHARE, share
from kvopt.runs.row import faulty
from kvopt.runs.supervise import Snapshot, needs_compiler
from kvopt.runs.task import Finished, Task
from support.machine import MachineError


class Series:
    """Methods on one instance, one after the other, or two side by side.

    The tasks are of one instance, seed and deadline (``time.monotonic``); what compiling kernels
    takes before a method begins is added.  With ``first_whole`` the first may take all the time.
    With ``side_by_side`` those that need the compiler run next to the others.  ``interrupted``:
    Ctrl-C has ended it, after all results were yielded.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        deadline: float,
        listen: Callable[[Task, Snapshot], None] = lambda _task, _snapshot: None,
        *,
        first_whole: bool = False,
        side_by_side: bool = False,
    ) -> None:
        self._listen = listen
        self._whole = tasks[0] if first_whole else None
        self._beside = deque(filter(needs_compiler, tasks) if side_by_side else [])
        self._first = deque(task for task in tasks if task not in self._beside)
        self.interrupted = False
        self._deadline = self._planned = deadline
        self._advice: list[float] | None = None

    @property
    def waiting(self) -> list[Task]:
        """The tasks that have not begun, or were not through when the time was over."""
        return [*self._first, *self._beside]

    def run(self) -> Iterator[Finished]:
        """Yield the result of every method, as long as there is time; those beside come last."""
        stop = threading.Event()
        ended: list[Finished] = []

        def run_beside() -> None:
            with suppress(InterruptedRunError):
                ended.extend(self._results(self._beside, stop))

        with ThreadPoolExecutor(1) as pool:
            try:
                beside = pool.submit(run_beside)
                yield from self._results(self._first)
                if self.interrupted:
                    stop.set()
                beside.result()
            except KeyboardInterrupt:
                self.interrupted = True
            finally:
                stop.set()
        yield from ended

    def _results(
        self, tasks: deque[Task], stop: threading.Event | None = None
    ) -> Iterator[Finished]:
        """Carry out tasks one after the other."""
        compiling = 0.0
        while tasks and not self.interrupted and self._left() > LEAST_SHARE:
            task = tasks[0]
            waiting = 1 if task is self._whole else len(self.waiting)
            limit = round(share(task, self._left(), waiting), 3)
            given = replace(
                task, deadline=self._deadline, time_limit=limit, expected_starts=self._advice
            )
            try:
                found = execute(given, stop, partial(self._listen, task))
            except MachineError as error:
                found = faulty(task, str(error), "error", time.monotonic())
            compiling += found.compiling
            self._deadline = max(self._deadline, self._planned + compiling)
            if found.record.ending == "time_limit" and self._left() <= 0:
                return
            tasks.popleft()
            self._advice = self._advice or found.expected_starts
            self.interrupted |= found.record.ending == "interrupted"
            yield found

    def _left(self) -> float:
        return self._deadline - time.monotonic()
