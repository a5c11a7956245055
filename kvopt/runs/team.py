"""Processes of several tasks side by side: a bound and a schedule need both cores.

The parent process sends better schedules to each; :data:`RECEIVED` is the last one here.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kvopt.methods.method import Method
from kvopt.runs.events import Event
from kvopt.runs.process import POLL_SECONDS, Ending, Process, ProcessOutcome, wait_for
from kvopt.runs.supervise import process_of
from kvopt.runs.task import Task

#: Seconds after the deadline at which processes are killed.
_GRACE_SECONDS = 0.5


@dataclass(frozen=True)
class StopWorkers:
    """An answer to an event: stop every process that works on a method."""

    method: Method


@dataclass(frozen=True)
class SendSchedule:
    """An answer to an event: send every process a better schedule, by its starts."""

    starts: list[int]


#: The next action of a team.
Order = Task | StopWorkers | SendSchedule


class _Received:
    """The last schedule that the parent process sent; ``starts`` are in the instance's order."""

    starts: list[int] | None = None

    def listen(self, lines: Iterable[str]) -> None:
        """Read a line a schedule from now on; the parent has checked it."""
        threading.Thread(target=self._read, args=[lines], daemon=True).start()

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.starts = json.loads(line)


RECEIVED = _Received()


def run_team(
    tasks: list[Task],
    on_event: Callable[[Task, Event], Sequence[Order]],
    *,
    deadline: float,
    finished: Callable[[], bool],
    on_tick: Callable[[], Sequence[Order]] = tuple,
    on_end: Callable[[Task], Sequence[Order]] = lambda _: (),
    yields: Callable[[Task], bool] = lambda _: False,
) -> list[ProcessOutcome]:
    """Run tasks until all have ended, the deadline is over, or ``finished`` says so.

    ``on_event`` receives every event, ``on_end`` every task that ended by itself or at its memory
    limit, and ``on_tick`` is called some times a second; each returns orders.  A task that
    ``yields`` has lower priority.  The deadline is on the clock of ``time.monotonic``.  Outcomes
    are in the order in which the processes ended.
    """
    waiting: list[Order] = list(tasks)
    running: dict[Process, Task] = {}
    outcomes: list[ProcessOutcome] = []

    def deliver(task: Task, event: Event) -> None:
        waiting.extend(on_event(task, event))

    def close(process: Process, ending: Ending) -> None:
        """End a process, after its last events."""
        outcomes.append(process.close(ending, partial(deliver, running.pop(process))))

    def obey(order: Order) -> None:
        if isinstance(order, Task):
            running[process_of(order, yields=yields(order))] = order
        elif isinstance(order, SendSchedule):
            for process in running:
                process.send(json.dumps(order.starts))
        else:
            for process in [each for each in running if running[each].method == order.method]:
                close(process, "stopped")

    ending: Ending = "finished"
    while ending == "finished" and (waiting or running):
        waiting.extend(on_tick())
        while waiting:
            obey(waiting.pop(0))
        wait_for(running, POLL_SECONDS)
        for process, task in list(running.items()):
            process.take(partial(deliver, task))
            if process.ended or process.exceeds_memory():
                close(process, "finished" if process.ended else "memory_limit")
                waiting.extend(on_end(task))
        if finished():
            ending = "stopped"
        elif time.monotonic() > deadline + _GRACE_SECONDS:
            ending = "time_limit"
    for process in list(running):
        close(process, ending)
    return outcomes
