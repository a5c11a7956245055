"""Runs many policies on one instance within one time limit.

Each is a separate run and has a share of the time.  The relaxation that advises several is solved
once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from kvopt.runs.execute import execute
from kvopt.runs.limits import LEAST_SHARE, share
from kvopt.runs.row import faulty
from kvopt.runs.supervise import Snapshot
from kvopt.runs.task import Finished, Task
from support.machine import MachineError


class Series:
    """Methods on one instance, one after the other.

    The tasks are of one instance, seed and deadline (``time.monotonic``); the time of compiling is
    added.  With ``first_whole`` the first may take all the time.  ``waiting`` has the tasks that
    did not start, or did not end in time.  ``interrupted``: Ctrl-C has ended it.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        deadline: float,
        listen: Callable[[Task, Snapshot], None] = lambda _task, _snapshot: None,
        *,
        first_whole: bool = False,
    ) -> None:
        self._listen = listen
        self._whole = tasks[0] if first_whole else None
        self.waiting = list(tasks)
        self.interrupted = False
        self._deadline = deadline

    def run(self) -> Iterator[Finished]:
        """Yield the result of every method, as long as there is time."""
        advice: list[float] | None = None
        while self.waiting and not self.interrupted and self._left() > LEAST_SHARE:
            task = self.waiting[0]
            waiting = 1 if task is self._whole else len(self.waiting)
            limit = round(share(task, self._left(), waiting), 3)
            given = replace(task, deadline=self._deadline, time_limit=limit, expected_starts=advice)
            try:
                found = execute(given, listen=partial(self._listen, task))
            except MachineError as error:
                found = faulty(task, str(error), "error", time.monotonic())
            self._deadline += found.compiling
            if found.record.ending == "time_limit" and self._left() <= 0:
                return
            self.waiting.pop(0)
            advice = advice or found.expected_starts
            self.interrupted = found.record.ending == "interrupted"
            yield found

    def _left(self) -> float:
        return self._deadline - time.monotonic()
