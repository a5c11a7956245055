"""The executor of one machine: a few runs at a time, each in its own process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kvopt.running.execute import InterruptedRunError, execute
from kvopt.running.supervise import Snapshot
from kvopt.running.task import Finished, Task


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

        A task is asked for when it begins.
        """
        waiting = iter(tasks)
        taking = threading.Lock()
        stop = threading.Event()
        # A slow store must not have results pile up in memory.
        results: queue.Queue[Finished | BaseException | None] = queue.Queue(maxsize=2 * self._jobs)

        def next_task() -> Task | None:
            with taking:
                return None if stop.is_set() else next(waiting, None)

        def work() -> None:
            try:
                while (task := next_task()) is not None:
                    found = execute(task, stop, partial(self._listen, task))
                    _deliver(results, found, stop)
            except InterruptedRunError:
                pass
            except BaseException as error:
                _deliver(results, error, stop)
            _deliver(results, None, stop)

        # Not daemons: the interpreter must not end before their processes have.
        threads = [threading.Thread(target=work) for _ in range(self._jobs)]
        working = len(threads)
        try:
            for thread in threads:
                thread.start()
            while working:
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                if result is None:
                    working -= 1
                else:
                    yield result
        finally:
            stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()


def _deliver(
    results: queue.Queue[Finished | BaseException | None],
    result: Finished | BaseException | None,
    stop: threading.Event,
) -> None:
    """Put a result where the caller takes it from, unless the caller has gone."""
    while not stop.is_set():
        try:
            results.put(result, timeout=0.1)
            return
        except queue.Full:
            continue
