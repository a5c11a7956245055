"""What the Dask engine has its workers do.

Functions travel by name: scheduler and workers must be able to import this file.
"""

from __future__ import annotations

import asyncio
import threading

from distributed import Status, Worker, get_worker

from runs.sweep.execute import execute
from runs.sweep.fingerprint import fingerprint, versions
from runs.sweep.methods import MethodError, read_method
from runs.sweep.task import Task

#: Method, digest of its sources and versions of its libraries, as the client has them.
Demand = tuple[str, str, dict[str, str]]

_running: set[str] = set()
_lock = threading.Lock()


class UnfitWorkerError(Exception):
    """A worker cannot carry out the client's runs; arguments: its address and why, one line."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address = address
        self.reason = reason


def present() -> bool:
    """Return True, which shows that kvopt can be imported where this is called."""
    return True


async def difference(demands: list[Demand]) -> str:
    """Return one line that says why this worker would give other results than the client.

    Empty if it gives the same.
    """
    # Importing and reading all sources takes a while, during which the worker has to be heard.
    return await asyncio.to_thread(_first_difference, demands)


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
    task = Task.from_line(line)
    reason = _first_difference([(task.method, task.code, task.versions)])
    if reason:
        raise UnfitWorkerError(worker.address, reason)
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


def _first_difference(demands: list[Demand]) -> str:
    for text, code, libraries in demands:
        try:
            method = read_method(text)
            own_libraries = versions(method)
            own_code = fingerprint(method)
        except (MethodError, OSError, SyntaxError) as error:
            return f"{text}: {' '.join(str(error).split())}"
        for library in sorted(libraries.keys() | own_libraries.keys()):
            asked, found = libraries.get(library, "none"), own_libraries.get(library, "none")
            if asked != found:
                return f"{text}: expected {library} {asked}, found {found}"
        if code != own_code:
            return f"{text}: its sources are not those of the client ({own_code}, not {code})"
    return ""
