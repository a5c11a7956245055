"""Runs many policies on one instance within one time limit.

Each is a separate run with a share of the time.  A relaxation that advises several is solved once.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from kvopt.runs.execute import execute
from kvopt.runs.limits import LEAST_SHARE, share_time
from kvopt.runs.run_row import make_faulty_row
from kvopt.runs.supervise import RunSnapshot
from kvopt.runs.task import FinishedRun, Task
from support.machine_errors import MachineError


@dataclass
class MethodSeries:
    """Methods on one instance, one after the other.

    The tasks are of one instance, seed and deadline (``time.monotonic``); the time of compiling is
    added.  ``waiting`` has the tasks that did not start, or did not end in time.  With
    ``first_whole`` the first may take all the time.  ``interrupted``: Ctrl-C has ended it.
    """

    waiting: list[Task]
    deadline: float
    listen: Callable[[Task, RunSnapshot], None] = lambda _task, _snapshot: None
    first_whole: bool = field(default=False, kw_only=True)
    interrupted: bool = False

    def run(self) -> Iterator[FinishedRun]:
        """Yield the result of every method, as long as there is time."""
        advice: list[float] | None = None
        whole = self.waiting[0] if self.first_whole else None
        while self.waiting and not self.interrupted and self._left() > LEAST_SHARE:
            task = self.waiting[0]
            waiting = 1 if task is whole else len(self.waiting)
            limit = round(share_time(task, self._left(), waiting), 3)
            given = replace(task, deadline=self.deadline, time_limit=limit, expected_starts=advice)
            try:
                found = execute(given, listen=partial(self.listen, task))
            except MachineError as error:
                found = make_faulty_row(task, str(error), "error", time.monotonic())
            self.deadline += found.compiling
            if found.record.ending == "time_limit" and self._left() <= 0:
                return
            self.waiting = self.waiting[1:]
            advice = advice or found.expected_starts
            self.interrupted = found.record.ending == "interrupted"
            yield found

    def _left(self) -> float:
        return self.deadline - time.monotonic()
