"""The executor of one machine: a few runs at a time, each in its own process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice

from kvopt.runs.execute import execute
from kvopt.runs.supervise import Snapshot
from kvopt.runs.task import Finished, Task
from support.machine import MachineError
from support.text import counted


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
        """Carry out tasks and yield the results as they come.

        Raises
        ------
        MachineError
            After all others, if the machine has lacked something for some of them.
        """
        lost: list[MachineError] = []
        waiting = iter(tasks)
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._jobs)

        def begin(count: int) -> set[Future[Finished]]:
            listening = ((task, stop, partial(self._listen, task)) for task in waiting)
            return {pool.submit(execute, *given) for given in islice(listening, count)}

        try:
            # As many again as go side by side: none waits for the caller to store a result, and a
            # slow store does not have results pile up in memory.
            running = begin(2 * self._jobs)
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= begin(len(done))
                for each in done:
                    try:
                        finished = each.result()
                    except MachineError as error:
                        lost.append(error)
                        continue
                    yield finished
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        if lost:
            left = counted(len(lost), "run")
            raise MachineError(f"{left} not carried out: {lost[0]}; the same command runs the rest")
