"""Runs of a sweep on this machine: a few at a time, each in a separate process."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from kvopt.runs.execute import execute
from kvopt.runs.supervise import RunSnapshot
from kvopt.runs.task import FinishedRun, Task
from support.machine_errors import MachineError
from support.message_text import plural


def run_local(
    tasks: Iterable[Task],
    jobs: int = 1,
    listen: Callable[[Task, RunSnapshot], None] = lambda _task, _snapshot: None,
) -> Iterator[FinishedRun]:
    """Carry out ``jobs`` tasks side by side, in order; threads watch them, and call ``listen``."""
    stop = threading.Event()
    pool = ThreadPoolExecutor(jobs)
    try:
        submit = pool.submit
        # As many again as go side by side: none waits for the caller to store a result.
        yield from collect_results(
            lambda task: submit(execute, task, stop, partial(listen, task)), tasks, lambda: 2 * jobs
        )
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def collect_results(
    submit: Callable[[Task], Future[FinishedRun]],
    tasks: Iterable[Task],
    most: Callable[[], int],
    recover: Callable[[Task, Future[FinishedRun]], FinishedRun] = lambda _task, run: run.result(),
) -> Iterator[FinishedRun]:
    """Yield the result of each task once, as it comes, with at most ``most()`` submitted at a time.

    ``recover`` may turn a future's error into a result.  A MachineError comes after all results, if
    a machine has lacked something for some.
    """
    waiting, running = deque(tasks), dict[Future[FinishedRun], Task]()
    lost: list[MachineError] = []
    while waiting or running:
        while waiting and len(running) < max(most(), 1):
            task = waiting.popleft()
            running[submit(task)] = task
        for future in wait(running, 1.0, FIRST_COMPLETED).done:  # seconds until most() is asked
            try:
                finished = recover(running.pop(future), future)
            except MachineError as error:
                lost.append(error)
            else:
                yield finished
    if lost:
        left = plural(len(lost), "run")
        raise MachineError(f"{left} not carried out: {lost[0]}; the same command runs the rest")
