"""Runs of a sweep on this machine: a few at a time, each in its own process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kvopt.executors import results
from kvopt.runs.execute import execute
from kvopt.runs.supervise import Snapshot
from kvopt.runs.task import Finished, Task


def run_local(
    tasks: Iterable[Task],
    jobs: int = 1,
    listen: Callable[[Task, Snapshot], None] = lambda _task, _snapshot: None,
) -> Iterator[Finished]:
    """Carry out ``jobs`` tasks side by side, in order; a thread watches each.

    Parameters
    ----------
    jobs
        Runs at a time.  Runs that share cores and caches slow each other down.
    listen
        Called by the thread of each run with what is known of it so far, some times a second.
    """
    stop = threading.Event()
    pool = ThreadPoolExecutor(jobs)
    try:
        # As many again as go side by side: none waits for the caller to store a result.
        yield from results(
            lambda task: pool.submit(execute, task, stop, partial(listen, task)),
            tasks,
            lambda: 2 * jobs,
        )
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
