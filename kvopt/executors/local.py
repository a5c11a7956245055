"""The executor of one machine: a few runs at a time, each in its own process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kvopt.executors import results
from kvopt.runs.execute import execute
from kvopt.runs.supervise import Snapshot
from kvopt.runs.task import Finished, Task


class LocalExecutor:
    """Carries out ``jobs`` tasks side by side, in order; each has a thread that watches it.

    Parameters
    ----------
    jobs
        Runs at a time.  Runs that share cores and caches slow each other down.
    listen
        Called by the thread of each run with what is known of it so far, some times a second.
    """

    def __init__(
        self,
        jobs: int = 1,
        listen: Callable[[Task, Snapshot], None] = lambda _task, _snapshot: None,
    ) -> None:
        self._jobs, self._listen = jobs, listen

    def run(self, tasks: Iterable[Task]) -> Iterator[Finished]:
        """Carry out tasks and yield the results as they come."""
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._jobs)
        try:
            # As many again as go side by side: none waits for the caller to store a result.
            yield from results(
                lambda task: pool.submit(execute, task, stop, partial(self._listen, task)),
                tasks,
                lambda: 2 * self._jobs,
            )
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
