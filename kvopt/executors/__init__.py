"""Runs of a sweep on a ``concurrent.futures`` executor: threads here, or Dask workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from kvopt.runs.task import Finished, Task
from support.machine import MachineError
from support.text import counted

#: Seconds between two questions to how many workers there are.
_POLL_SECONDS = 1.0


class ExecutorError(Exception):
    """The executor cannot go on, whatever the tasks are; the message is one line."""


def results(
    submit: Callable[[Task], Future[Finished]],
    tasks: Iterable[Task],
    most: Callable[[], int],
    recover: Callable[[Task, Future[Finished]], Finished] = lambda _task, run: run.result(),
) -> Iterator[Finished]:
    """Yield the result of each task once, as it comes, in any order.

    When the caller stops asking (``GeneratorExit``, Ctrl-C), the runs under way are stopped with
    all their processes.

    Parameters
    ----------
    most
        Returns how many tasks may be submitted at a time.
    recover
        Returns the result of a task, or makes one of what its future raises.

    Raises
    ------
    ExecutorError
        If the machines that carry out the runs are not to be had any more.
    MachineError
        After all others, if a machine has lacked something for some of them.
    """
    waiting, running = deque(tasks), dict[Future[Finished], Task]()
    lost: list[MachineError] = []
    while waiting or running:
        while waiting and len(running) < max(most(), 1):
            task = waiting.popleft()
            running[submit(task)] = task
        for future in wait(running, _POLL_SECONDS, FIRST_COMPLETED).done:
            try:
                finished = recover(running.pop(future), future)
            except MachineError as error:
                lost.append(error)
                continue
            yield finished
    if lost:
        left = counted(len(lost), "run")
        raise MachineError(f"{left} not carried out: {lost[0]}; the same command runs the rest")
