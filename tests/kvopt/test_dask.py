"""The Dask executor on a real scheduler and real workers: what it survives and what it refuses."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest

from instances import Instance, Request, write_instance
from kvopt.executors import ExecutorError
from kvopt.executors.dask import run_on_dask
from kvopt.executors.local import run_local
from kvopt.runs.process import kill_tree
from kvopt.runs.task import FinishedRun, Task
from tests.kvopt.sweep_tools import ROOT, Evaluate, own_method, task_of, wait_until
from tests.tiers import a_few

#: A method that waits at a gate, is not easily killed, and says which worker it is of.
_GATED = """\
subprocess.Popen(["sleep", "60"])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
report("note", text=f"workers {[each.pid for each in psutil.Process().parents()]}")
while not os.path.exists(GATE):
    time.sleep(0.02)
return [sum(r.output for r in instance.requests[:i]) for i in range(len(instance))]
"""


class DaskCluster:
    """One scheduler and as many workers of one thread as are asked for, without a nanny."""

    # They write into a folder; ``python_path`` is where the scheduler finds kvopt.
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

    def close(self) -> None:
        """Kill all that is left."""
        for process in [*self.workers, self.scheduler]:
            kill_tree(process.pid)
            process.wait()

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        streams: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        return subprocess.Popen(command, cwd=self._folder, env=os.environ | environment, **streams)


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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler with two workers that the tests of this file share."""
    with dask_cluster(tmp_path_factory.mktemp("dask"), workers=2) as running:
        yield running


def gated_tasks(folder: Path, count: int) -> list[Task]:
    """Return tasks that are under way until there is a file ``gate``."""
    # What Dask and the gate write is beside the file's folder, all of which counts.
    body = _GATED.replace("GATE", repr(str(folder / "gate")))
    method = own_method(folder / "own", body, "import os, psutil, signal, subprocess, time")
    return [replace(task, time_limit=60.0) for task in tasks(method, count=count)]


def tasks(*methods: str, count: int = 1) -> list[Task]:
    """Return tasks for small instances, as a sweep plans them."""
    drawn = (tuple(Request(i, i, 1, 1 + (i + k) % 4) for i in range(5)) for k in range(count))
    return [
        task_of(Instance(f"i{k}", 9 + k, requests), method, planned=True, time_limit=20.0)
        for k, requests in enumerate(drawn)
        for method in methods
    ]


def by_key(results: list[FinishedRun]) -> dict[str, list[object]]:
    """Return what two runs of one task have in common, by key; two of one key are an error."""
    assert max(Counter(each.record.key for each in results).values()) == 1
    names = ("instance", "method", "status", "ending", "tel", "lower_bound", "found_by")
    return {
        each.record.key: [
            *(getattr(each.record, name) for name in names),
            each.schedule and each.schedule.starts,
            each.instance,
        ]
        for each in results
    }


@pytest.mark.slow("walks")
def test_same_rows_as_without_dask(cluster: DaskCluster) -> None:
    """Workers of a cluster give the rows that the local executor gives."""
    planned = tasks("mc-sf", "fcfs", count=2)
    assert by_key([*run_on_dask(planned, cluster.address)]) == by_key([*run_local(planned, 2)])


@pytest.mark.slow("waits")
def test_worker_killed_and_worker_late(cluster: DaskCluster, tmp_path: Path) -> None:
    """A run whose worker is killed is run elsewhere; a worker that joins late gets work."""
    planned = gated_tasks(tmp_path, count=6)
    doomed = cluster.add_worker()
    late: list[int] = []

    def happen() -> None:
        wait_until(lambda: runs_of(doomed))
        doomed.kill()
        doomed.wait()
        worker = cluster.add_worker()
        # The others are still busy at the gate.
        wait_until(lambda: runs_of(worker))
        late.append(worker.pid)
        (tmp_path / "gate").touch()

    events = threading.Thread(target=happen)
    events.start()
    results = list(run_on_dask(planned, cluster.address))
    events.join()
    assert by_key(results).keys() == {task.key for task in planned}
    assert {each.record.status for each in results} == {"feasible"}
    # The processes above each slow run, one of which is its worker.
    told = [each.record.detail.partition("workers [")[2].partition("]")[0] for each in results]
    workers = {int(number) for listed in told for number in listed.split(", ")}
    assert doomed.pid not in workers
    assert set(late) < workers


@pytest.mark.parametrize("number", a_few((signal.SIGINT, signal.SIGKILL), 1, "waits"))
def test_a_stopped_command_leaves_nothing(
    cluster: DaskCluster, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C and even SIGKILL of ``evaluate.py`` end all runs, here and on the workers."""
    (method,) = {f"file:{task.method.path}" for task in gated_tasks(tmp_path, 1)}
    for task in tasks("fcfs", count=4):
        assert task.instance is not None
        write_instance(task.instance, tmp_path / f"{task.name}.json")
    arguments = ["--methods", method, "--store", str(tmp_path / "store")]
    arguments += ["--executor", "dask", "--scheduler", cluster.address]
    command = Evaluate([*tmp_path.glob("*.json"), *arguments]).start()
    wait_until(lambda: sum(len(runs_of(worker)) for worker in cluster.workers) >= 2)
    runs = [process for worker in cluster.workers for process in runs_of(worker)]
    command.send_signal(number)
    _, errors = command.communicate(timeout=60)
    wait_until(lambda: not any(process.is_running() for process in runs))
    if number == signal.SIGINT:
        assert command.returncode == 130
        assert len(errors.splitlines()) == 1


def test_other_sources_are_refused(cluster: DaskCluster) -> None:
    """Results of a worker that has other sources or libraries never stand under our key."""
    (task,) = tasks("fcfs")
    with pytest.raises(ExecutorError, match=r"carry out fcfs: ImportError: tcp:.*: the sources"):
        list(run_on_dask([replace(task, code="0" * 16)], cluster.address))
    other = replace(task, versions=task.versions | {"python": "3.1"})
    with pytest.raises(ExecutorError, match=r"carry out fcfs: .*: python 3.* on this machine"):
        list(run_on_dask([other], cluster.address))


def test_a_worker_without_kvopt_ends_the_sweep(tmp_path: Path) -> None:
    """One line names what is missing there; the scheduler needs none."""
    # An empty package would not do: an editable install finds its subpackages all the same.
    for folder in ("kvopt", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "kvopt" / "__init__.py").write_text("raise ModuleNotFoundError('no kvopt here')")
    with dask_cluster(tmp_path / "here", 0, python_path=tmp_path) as cluster:
        cluster.add_worker(python_path=tmp_path)
        with pytest.raises(ExecutorError, match="ModuleNotFoundError: no kvopt here") as told:
            list(run_on_dask(tasks("fcfs"), cluster.address))
        assert len(str(told.value).splitlines()) == 1


@pytest.mark.slow("waits")
def test_run_that_kills_every_worker(tmp_path: Path) -> None:
    """A run that takes worker after worker with it becomes a row, and the sweep goes on."""
    with dask_cluster(tmp_path, workers=1) as cluster:
        above = "(each for each in psutil.Process().parents() if 'worker' in each.cmdline())"
        body = f"next{above}.kill()"
        method = own_method(tmp_path / "own", body, "import psutil")
        killer, harmless = *tasks(method), *tasks("fcfs")
        for _ in range(3):
            cluster.add_worker()
        results = run_on_dask([killer, harmless], cluster.address)
        found = {each.record.key: each.record for each in results}
        first, second = found[killer.key], found[harmless.key]
    assert (first.status, first.ending) == ("crashed", "lost")
    assert first.detail.startswith("workers died with it: ")
    assert second.status == "optimal"


@pytest.mark.slow("waits")
def test_scheduler_killed(tmp_path: Path) -> None:
    """Without its scheduler a sweep ends with one clear error, and the runs with it."""
    with dask_cluster(tmp_path, workers=1) as cluster:

        def happen() -> None:
            wait_until(lambda: any(map(runs_of, cluster.workers)))
            cluster.scheduler.kill()

        events = threading.Thread(target=happen)
        events.start()
        lost = r"no Dask scheduler answers: the connection is lost$"
        with pytest.raises(ExecutorError, match=lost):
            list(run_on_dask(gated_tasks(tmp_path, 2), cluster.address))
        events.join()
        wait_until(lambda: not any(map(runs_of, cluster.workers)))


def test_no_scheduler_there() -> None:
    """An address where nobody answers is one line."""
    for address in ("tcp://127.0.0.1:9", "nonsense://x", "tls://127.0.0.1:9"):
        late = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
        silent = pytest.raises(ExecutorError, match=f"^{address}: no Dask scheduler answers: ")
        with late, silent as told:
            list(run_on_dask(tasks("fcfs"), address))
        assert len(str(told.value).splitlines()) == 1
