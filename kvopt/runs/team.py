"""Several jobs side by side, each in its own process: a bound and a schedule need both cores."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from kvopt.methods.method import Method
from kvopt.runs.events import Event
from kvopt.runs.process import POLL_SECONDS, Ending, Outcome, Process, wait_for
from kvopt.runs.supervise import process_of
from kvopt.runs.task import Task


@dataclass(frozen=True)
class Stop:
    """An answer to an event: stop every process that works on a method."""

    method: Method


@dataclass(frozen=True)
class Tell:
    """An answer to an event: tell every process of a better schedule, by its starts."""

    starts: list[int]


#: What the team does next.
Order = Task | Stop | Tell


def run_team(
    tasks: list[Task],
    on_event: Callable[[Task, Event], Sequence[Order]],
    *,
    deadline: float,
    finished: Callable[[], bool],
    on_tick: Callable[[], Sequence[Order]] = tuple,
    on_end: Callable[[Task], Sequence[Order]] = lambda _: (),
    grace: float = 0.5,
) -> list[Outcome]:
    """Run tasks until all have ended, the deadline is over, or ``finished`` says that it is enough.

    ``on_event`` receives every event, ``on_tick`` is asked some times a second, and ``on_end``
    receives every task that ended without being stopped; each may return what to do next.
    Processes are killed ``grace`` seconds after the deadline (``time.monotonic``).  Outcomes are in
    the order in which the processes ended.
    """
    team = _Team(list(tasks), on_event, on_end)
    ending: Ending = "finished"
    try:
        while team.waiting or team.running:
            team.waiting.extend(on_tick())
            team.begin()
            team.listen()
            if finished():
                ending = "stopped"
                break
            if time.monotonic() > deadline + grace:
                ending = "time_limit"
                break
    except BaseException:
        for _, process in team.running:
            process.close("stopped", lambda _: None)
        raise
    for member in list(team.running):
        team.close(member, ending)
    return team.outcomes


class _Team:
    """Members of a team: waiting, running, ended."""

    def __init__(
        self,
        waiting: list[Order],
        on_event: Callable[[Task, Event], Sequence[Order]],
        on_end: Callable[[Task], Sequence[Order]],
    ) -> None:
        self.waiting, self._on_event, self._on_end = waiting, on_event, on_end
        self.running: list[tuple[Task, Process]] = []
        self.outcomes: list[Outcome] = []

    def begin(self) -> None:
        """Start and stop what waits for it."""
        while self.waiting:
            order = self.waiting.pop(0)
            if isinstance(order, Task):
                self.running.append((order, process_of(order)))
            elif isinstance(order, Tell):
                for _, process in self.running:
                    process.send(json.dumps(order.starts))
            else:
                for member in [each for each in self.running if each[0].method == order.method]:
                    self.close(member, "stopped")

    def listen(self) -> None:
        """Take what each process has to say, and close those that have ended or must."""
        wait_for([process for _, process in self.running], POLL_SECONDS)
        for member in list(self.running):
            task, process = member
            process.take(partial(self._deliver, task))
            if process.ended:
                self.close(member, "finished")
            elif process.exceeds_memory():
                self.close(member, "memory_limit")
            else:
                continue
            self.waiting.extend(self._on_end(task))

    def close(self, member: tuple[Task, Process], ending: Ending) -> None:
        """End a process, after its last words."""
        if member in self.running:
            self.running.remove(member)
        task, process = member
        self.outcomes.append(process.close(ending, partial(self._deliver, task)))

    def _deliver(self, task: Task, event: Event) -> None:
        self.waiting.extend(self._on_event(task, event))
