"""The policies of the answer, run beside a method on an instance in seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from instances import Instance
from kvopt.commands.bound_beside import SHARE, Limits
from kvopt.methods.grammar import OF_ANSWER, read_methods
from kvopt.running.batch_time import rounds_only
from kvopt.running.execute import InterruptedRunError
from kvopt.running.series import Series
from kvopt.running.supervise import Snapshot
from kvopt.running.task import Finished, Task

#: Each may take the third part of the time that is left: the first are those without which there
#: is no answer.
_SHARING = 3


class AnswerBeside:
    """Policies one after the other in one process, which is killed when the method has been.

    They are begun when the method has a schedule, so that its first answer waits for nothing; where
    ``limits.jobs`` is 1 before it, for a share of the time.
    """

    def __init__(self, instance: Instance, batch_time: str, seed: int, limits: Limits) -> None:
        alone = limits.jobs == 1
        left = limits.deadline - time.monotonic()
        self._stop = threading.Event()
        self._finished: list[Finished] = []
        self._series = Series(
            list(_tasks(instance, batch_time, seed, limits)),
            limits.deadline - (1 - SHARE) * left if alone else limits.deadline,
            self._listen,
            sharing=_SHARING,
        )
        self._pool = ThreadPoolExecutor(1)
        self._future: Future[None] | None = None
        if alone:
            self.begin().result()

    def __enter__(self) -> AnswerBeside:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._pool.shutdown()

    def begin(self) -> Future[None]:
        """Begin, unless that has been done; return what ends with the last policy."""
        if self._future is None:
            self._future = self._pool.submit(self._run)
        return self._future

    def found(self, *, at_once: bool) -> tuple[Finished, ...]:
        """Return what has become of the policies when all have ended, or so far."""
        if at_once:
            self._stop.set()
        self.begin().result()
        return tuple(self._finished)

    def _run(self) -> None:
        try:
            for finished in self._series.run():
                self._finished.append(finished)
        except InterruptedRunError:
            pass

    def _listen(self, task: Task, snapshot: Snapshot) -> None:
        del task, snapshot
        if self._stop.is_set():
            raise InterruptedRunError


def _tasks(instance: Instance, batch_time: str, seed: int, limits: Limits) -> Iterator[Task]:
    for method in read_methods((OF_ANSWER,)):
        if method.kind == "policy" and not rounds_only(instance, method):
            yield Task(
                instance=instance,
                name=instance.name,
                method=method,
                seed=seed,
                memory_limit=limits.memory_limit,
                batch_time=batch_time,
            )
