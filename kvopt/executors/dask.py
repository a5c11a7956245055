"""The executor over Dask: the same runs on one machine, a SLURM cluster or Kubernetes."""

from __future__ import annotations

import contextlib
import logging
import queue
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, Security

from kvopt.executors import ExecutorError
from kvopt.executors.dask_crew import Crew
from kvopt.executors.dask_worker import UnfitWorkerError, carry_out, present, under_way
from kvopt.runs.execute import InterruptedRunError
from kvopt.runs.row import faulty
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Snapshot
from kvopt.runs.task import Finished, Task
from support.machine import MachineError

_SECONDS_TO_CONNECT = 15
#: How long the workers may take to stop what is under way.
_SECONDS_TO_STOP = 5.0
_POLL_SECONDS = 0.2
#: After so many workers have died with a run, the run is to blame.
_DEATHS = 3
#: How long a worker may take to hand over a result.
_SECONDS_TO_FETCH = 15
#: Is told of a run under way.
Listen = Callable[[Task, Snapshot], object]
#: Any address without a host's name would be one of this machine.
_LOOPBACK = "127.0.0.1:0"


class DaskExecutor:
    """Carries out runs on the workers of a Dask scheduler.

    Every run has a process of its own on the worker's machine.  A worker that joins late gets
    work; what a worker took with it when it died is run again elsewhere.  Only as many runs are
    handed to the scheduler as there are threads to carry them out.

    Parameters
    ----------
    scheduler
        Address, as in ``tcp://host:8786``; None for threads of this process, which no other
        process can reach.
    jobs
        Runs side by side without a scheduler; with one, its workers decide.
    listen
        Called some times a second with each run under way; how far it is only its worker knows.
    """

    def __init__(
        self, scheduler: str | None, jobs: int, listen: Listen = lambda _task, _snapshot: None
    ) -> None:
        self._scheduler, self._jobs, self._listen = scheduler, jobs, listen

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        """Carry out tasks and yield the results as they come.

        Raises
        ------
        ExecutorError
            If no scheduler answers, it is gone, or none of its workers has the client's sources
            and libraries.
        """
        if not tasks:
            return
        with _silence(), self._connected() as client:
            yield from _Sweep(client, tasks, self._listen).run()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Client]:
        if self._scheduler is None:
            with _threads_of_this_process(self._jobs) as cluster, Client(cluster) as client:
                yield client
            return
        _see_that_there_is_a_certificate(self._scheduler)
        try:
            client = Client(
                self._scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False, name="kvopt"
            )
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:300]
            raise ExecutorError(f"{self._scheduler}: no Dask scheduler answers: {reason}") from None
        try:
            _see_that_it_knows_kvopt(client, self._scheduler)
            yield client
        finally:
            client.close(timeout=_SECONDS_TO_STOP)


@dataclass
class _Run:
    """A task, the worker that it was handed to, and how many have died with it."""

    task: Task
    worker: str = ""
    future: Any = None
    deaths: int = 0


def _see_that_there_is_a_certificate(address: str) -> None:
    # Dask would notice only when the client is half made, and then takes half a minute to close it.
    if address.startswith("tls:") and not Security().get_connection_args("client")["ssl_context"]:
        raise ExecutorError(
            f"{address}: expected the client's certificate, key and authority in Dask's "
            "configuration distributed.comm.tls"
        )


def _see_that_it_knows_kvopt(client: Client, address: str) -> None:
    try:
        client.run_on_scheduler(present)
    except Exception as error:
        # Whatever the scheduler raises while it imports; it needs the names, not the code.
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ExecutorError(
            f"{address}: expected a scheduler started in kvopt's environment: {reason}"
        ) from None


class _Sweep:
    """The tasks of one call on their way through the workers.

    Each task is handed to one worker that has a thread free for it, so that nothing but the run
    itself is lost with a worker, and no worker gets a run that it may not have.
    """

    def __init__(self, client: Client, tasks: Sequence[Task], listen: Listen) -> None:
        self._client, self._listen = client, listen
        self._waiting = deque(_Run(task) for task in tasks)
        self._running: dict[str, _Run] = {}
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._submitted = 0
        self._name = f"kvopt-{uuid.uuid4().hex}"
        self._crew = Crew(client, _samples(tasks))

    def run(self) -> Iterator[Finished]:
        try:
            while self._waiting or self._running:
                self._crew.check()
                yield from self._bury()
                self._hand_out()
                try:
                    future = self._done.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    self._tell()
                    continue
                finished = self._take(future)
                if finished is not None:
                    yield finished
        finally:
            self._stop()

    def _tell(self) -> None:
        for task in [run.task for run in self._running.values()]:
            if task.instance is not None:
                self._listen(task, Snapshot(RunState(task.instance, task.method.text)))

    def _hand_out(self) -> None:
        free = Counter(self._crew.fit)
        free.subtract(run.worker for run in self._running.values())
        while self._waiting and free:
            worker, threads = free.most_common(1)[0]
            if threads < 1:
                return
            free[worker] -= 1
            self._submit(self._waiting.popleft(), worker)

    def _submit(self, run: _Run, worker: str) -> None:
        self._submitted += 1
        key = f"{self._name}-{self._submitted}"
        run.worker = worker
        run.future = self._client.submit(
            carry_out, run.task.to_line(), key=key, pure=False, workers=[worker]
        )
        self._running[key] = run
        run.future.add_done_callback(self._done.put)

    def _bury(self) -> Iterator[Finished]:
        """Take back the runs of workers that are gone."""
        present = self._crew.present
        for key, run in list(self._running.items()):
            if run.worker in present:
                continue
            del self._running[key]
            self._client.cancel([run.future])
            finished = self._died(run)
            if finished is not None:
                yield finished

    def _died(self, run: _Run) -> Finished | None:
        """Have a run whose worker has died run again, or give it up."""
        run.deaths += 1
        if run.deaths < _DEATHS:
            self._waiting.appendleft(run)
            return None
        return _lost(run.task, f"{run.deaths} workers died while they carried it out")

    def _take(self, future: Future) -> Finished | None:
        """Return what a run has given, None if it has to be run again."""
        run = self._running.pop(future.key, None)
        if run is None:
            return None  # taken back before
        try:
            return Finished.from_line(future.result(timeout=_SECONDS_TO_FETCH))
        except TimeoutError:
            # The worker has died with the result, or the scheduler has lost track of it.
            self._client.cancel([future])
            return self._died(run)
        except CancelledError:
            raise ExecutorError("the connection to the Dask scheduler is lost") from None
        except KilledWorker:
            return self._died(run)
        except (UnfitWorkerError, MachineError) as error:
            self._crew.refuse(run.worker, str(error))
        except InterruptedRunError:
            # Nobody has told it to stop, so the worker is being closed.
            self._crew.release(run.worker)
        except Exception as error:
            # Of the machinery, not of the method; the other runs need not suffer.
            return _lost(run.task, f"{type(error).__name__} on {run.worker}: {error}")
        self._waiting.appendleft(run)
        return None

    def _stop(self) -> None:
        """Have the workers kill what is still under way, and wait until they have."""
        self._crew.close()
        if not self._running or self._client.status != "running":
            return
        deadline = time.monotonic() + _SECONDS_TO_STOP
        # The cluster may be what is gone.
        with contextlib.suppress(Exception):
            self._client.cancel([run.future for run in self._running.values()], force=True)
            while time.monotonic() < deadline:
                counts = self._client.run(under_way, self._name, on_error="ignore")
                if not any(counts.values()):
                    return
                time.sleep(0.05)


def _lost(task: Task, reason: str) -> Finished:
    row = faulty(task, reason, "crashed", time.monotonic())
    return replace(row, record=replace(row.record, ending="lost"))


def _samples(tasks: Sequence[Task]) -> list[str]:
    """Return one task, without its instance, for each combination of method and sources."""
    return sorted({replace(task, instance=None, name="", seed=0).to_line() for task in tasks})


def _threads_of_this_process(jobs: int) -> LocalCluster:
    # Runs have processes of their own anyway.  Scheduler and worker talk inside this process, so
    # that nobody else on a shared machine can hand them code; but Dask opens two HTTP servers in
    # any case, on all interfaces unless it is told otherwise.
    with dask.config.set(
        {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    ):
        return LocalCluster(
            processes=False,
            n_workers=1,
            threads_per_worker=jobs,
            memory_limit=0,
            dashboard_address=_LOOPBACK,
            worker_dashboard_address=_LOOPBACK,
        )


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep Dask's own log lines off the terminal; what matters of them comes as ExecutorError."""
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.split(".")[0] in ("distributed", "tornado") and isinstance(logger, logging.Logger)
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
