"""Runs of a sweep on Dask: on a SLURM cluster, or on Kubernetes."""

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future
from importlib import import_module

from distributed import Client, KilledWorker, Reschedule, Worker, get_worker

from kvopt.executors import ExecutorError
from kvopt.executors.local import collect_results
from kvopt.runs.execute import InterruptedRunError, execute, find_difference
from kvopt.runs.run_row import make_faulty_row
from kvopt.runs.task import FinishedRun, Task
from support.machine_errors import MachineError
from support.message_text import one_line


def run_on_dask(tasks: Iterable[Task], scheduler: str) -> Iterator[FinishedRun]:
    """Carry out tasks on the workers of a scheduler; tasks of a lost worker are run again."""
    logging.disable()  # an ExecutorError says what matters
    try:
        # Closing the client cancels the runs under way.
        with Client(scheduler) as client:
            submit = client.get_executor(pure=False).submit
            yield from collect_results(
                lambda task: submit(
                    # Sent by value: a worker without kvopt says so, and lives on.
                    lambda line: import_module(__name__).carry_out(line),
                    task.to_line(),
                ),
                tasks,
                lambda: 2 * sum(client.ncores().values()),
                _row,
            )
    except (OSError, ValueError, TypeError, RuntimeError, CancelledError) as error:
        reason = one_line(error, 300) or "the connection is lost"
        raise ExecutorError(f"{scheduler}: no Dask scheduler answers: {reason}") from None
    finally:
        logging.disable(logging.NOTSET)


def _row(task: Task, future: Future[FinishedRun]) -> FinishedRun:
    try:
        return future.result()
    except KilledWorker as error:  # several, one after the other
        lost = f"workers died with it: {error}"
        return make_faulty_row(task, lost, "crashed", time.monotonic(), "lost")
    except (CancelledError, MachineError):
        raise
    except Exception as error:
        reason = f"a worker cannot carry out {task.method.text}: {type(error).__name__}: {error}"
        raise ExecutorError(one_line(reason)) from None


def carry_out(line: str) -> FinishedRun:
    """Carry out the task of a line of JSON on a worker that has the client's sources."""
    worker, task = get_worker(), Task.from_line(line)
    if reason := find_difference(task):
        raise ImportError(f"{worker.address}: {reason}")
    try:
        return execute(task, _Unwanted(worker, str(worker.get_current_task())))
    except InterruptedRunError:  # the worker closes, or no client waits
        raise Reschedule from None


class _Unwanted(threading.Event):
    """Is set once the worker closes, or no client waits for a task any more."""

    def __init__(self, worker: Worker, key: str) -> None:
        super().__init__()
        self._worker, self._key = worker, key

    def is_set(self) -> bool:
        state = self._worker.state.tasks.get(self._key)
        closing = self._worker.status.name in ("closing", "closed", "failed")
        return closing or state is None or state.state != "executing"
