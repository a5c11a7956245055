"""A Dask scheduler and workers as their commands start them, on loopback, for tests."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from tests.kvopt.sweep_tools import ROOT, wait_until


class DaskCluster:
    """One scheduler and as many workers of one thread as are asked for, without a nanny.

    They write into a folder; ``python_path`` is where the scheduler finds kvopt.
    """

    def __init__(self, folder: Path, python_path: Path = ROOT) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            *("scheduler", "--host", "127.0.0.1", "--port", "0"),
            *("--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(self._file)),
            PYTHONPATH=str(python_path),
        )

    @cached_property
    def address(self) -> str:
        """Where the scheduler listens."""
        # The file is there a moment before it is written.
        wait_until(lambda: self._file.exists() and self._file.read_text(encoding="utf-8"))
        address: str = json.loads(self._file.read_text(encoding="utf-8"))["address"]
        return address

    def add_worker(self, python_path: Path = ROOT) -> subprocess.Popen[bytes]:
        """Start a worker; it joins when it is ready."""
        worker = self._start(
            *("worker", self.address, "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1"),
            # Else the status page of a worker, wanted or not, listens on all interfaces.
            *("--dashboard-address", "127.0.0.1:0", "--local-directory", str(self._folder)),
            PYTHONPATH=str(python_path),
        )
        self.workers.append(worker)
        return worker

    def processes(self) -> int:
        """Return how many processes the workers have started."""
        return sum(len(_below(worker.pid)) for worker in self.workers)

    def close(self) -> None:
        """Kill all that is left."""
        for process in [*self.workers, self.scheduler]:
            for child in _below(process.pid):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            process.kill()
            process.wait()

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            cwd=self._folder,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def runs_of(worker: subprocess.Popen[Any]) -> list[psutil.Process]:
    """Return the processes of the runs that a worker is carrying out, with what they started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for server in psutil.Process(worker.pid).children():
            if "kvopt.runs.fork_server" in server.cmdline():
                return server.children(recursive=True)
    return []


@contextlib.contextmanager
def dask_cluster(folder: Path, workers: int, **options: Any) -> Iterator[DaskCluster]:
    """Start a scheduler and workers, and kill them in the end."""
    cluster = DaskCluster(folder, **options)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


def _below(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []
