"""What the Dask executor has its workers do.

Functions travel by name: scheduler and workers must be able to import this file.
"""

from __future__ import annotations

import asyncio
import threading

from distributed import Status, Worker, get_worker

from kvopt.methods.grammar import MethodError
from kvopt.runs.execute import difference, execute
from kvopt.runs.task import Task

_running: set[str] = set()
_lock = threading.Lock()


class UnfitWorkerError(Exception):
    """A worker would give other results than the client; the message is one line."""


def present() -> bool:
    """Return True, which shows that kvopt can be imported where this is called."""
    return True


async def unfitness(lines: list[str]) -> str:
    """Return one line that says why this worker would give other results than the client.

    Empty if it gives the same.

    Parameters
    ----------
    lines
        Tasks without instances, which carry the client's sources and libraries.
    """
    # Importing and reading all sources takes a while, during which the worker has to be heard.
    return await asyncio.to_thread(_first_difference, lines)


def under_way(sweep: str) -> int:
    """Return how many runs of a sweep have processes on this worker."""
    with _lock:
        return sum(key.startswith(sweep) for key in _running)


def carry_out(line: str) -> str:
    """Carry out the task of a line of JSON and return its result as another.

    Raises
    ------
    UnfitWorkerError
        If this worker's sources or libraries are not the client's.
    InterruptedRunError
        If the client has gone or does not want the result any more.
    """
    worker = get_worker()
    try:
        task = Task.from_line(line)
    except MethodError as error:
        raise UnfitWorkerError(str(error)) from None
    # The run would notice too, but as a row under the client's key.
    if reason := difference(task):
        raise UnfitWorkerError(reason)
    key = str(worker.get_current_task())
    with _lock:
        _running.add(key)
    try:
        return execute(task, _Unwanted(worker, key)).to_line()
    finally:
        with _lock:
            _running.discard(key)


class _Unwanted(threading.Event):
    """Is set as soon as the scheduler does not wait for a task any more.

    Dask cannot stop a thread.  It marks the task: when the client cancels it, and also when the
    client has died, which the scheduler notices by its connection.
    """

    def __init__(self, worker: Worker, key: str) -> None:
        super().__init__()
        self._worker = worker
        self._key = key

    def is_set(self) -> bool:
        if self._worker.status in (Status.closing, Status.closed, Status.failed):
            self.set()
        state = self._worker.state.tasks.get(self._key)
        if state is None or state.state != "executing":
            self.set()
        return super().is_set()


def _first_difference(lines: list[str]) -> str:
    for line in lines:
        try:
            task = Task.from_line(line)
        except MethodError as error:
            return str(error)
        if reason := difference(task):
            return f"{task.method.text}: {reason}"
    return ""
