"""Several jobs side by side, each in its own process: a bound and a schedule need both cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from kvopt.running.events import Event
from kvopt.running.process import Ending, Outcome, Process
from kvopt.running.task import Task


@dataclass(frozen=True)
class Stop:
    """An answer to an event: stop every process that works on a method."""

    method: str


def run_team(
    tasks: list[Task],
    on_event: Callable[[Task, Event], Sequence[Task | Stop]],
    *,
    deadline: float,
    finished: Callable[[], bool],
    grace: float = 0.5,
) -> list[Outcome]:
    """Run tasks until all have ended, the deadline is over, or ``finished`` says that it is enough.

    Every event is handed to ``on_event``, which may answer with tasks to start beside those that
    run, and with those to stop.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``; processes are killed ``grace`` seconds later.

    Returns
    -------
    Outcomes in the order in which the processes ended.
    """
    waiting: list[Task | Stop] = list(tasks)
    running: list[tuple[Task, Process]] = []
    outcomes: list[Outcome] = []

    def deliver(task: Task, event: Event) -> None:
        waiting.extend(on_event(task, event))

    def close(member: tuple[Task, Process], ending: Ending) -> None:
        if member in running:
            running.remove(member)
        task, process = member
        outcomes.append(process.close(ending, partial(deliver, task)))

    ending: Ending = "finished"
    try:
        while waiting or running:
            while waiting:
                order = waiting.pop(0)
                if isinstance(order, Task):
                    running.append((order, Process.of(order)))
                    continue
                for member in [each for each in running if each[0].method == order.method]:
                    close(member, "stopped")
            for member in list(running):
                task, process = member
                if not process.take(partial(deliver, task), wait=0.1 / len(running)):
                    close(member, "finished")
                elif process.exceeds_memory():
                    close(member, "memory_limit")
            if finished():
                ending = "stopped"
                break
            if time.monotonic() > deadline + grace:
                ending = "time_limit"
                break
    except BaseException:
        for _, process in running:
            process.close("stopped", lambda _: None)
        raise
    for member in list(running):
        close(member, ending)
    return outcomes
