"""The engine's process: limits, crashes and lies are outcomes, never the end of the parent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kvopt.running.keeper
import kvopt.running.kernel
import kvopt.running.process
from formulations.registry import formulations
from instances import Instance, Request
from kvopt.engines.exact import Progress, final_status
from kvopt.running.job import Event, Job
from kvopt.running.process import run_job
from schedules import make_schedule

INSTANCE = Instance("pair", 5, (Request(0, 0, 1, 2), Request(1, 3, 0, 4)))


def _job(seconds: float = 20.0, memory_limit: float | None = None, module: str = "") -> Job:
    return Job(
        instance=INSTANCE,
        solver="highs",
        module=module or formulations()["ilp"].module,
        relaxation=False,
        seconds=seconds,
        threads=1,
        seed=0,
        warm_start=[0, 3],
        upper_bound=6,
        memory_limit=memory_limit,
    )


def test_a_job_survives_the_trip() -> None:
    """What the parent writes is what the engine's process reads."""
    job = _job()
    assert Job.from_line(job.to_line()) == job


def test_events_arrive_in_order() -> None:
    """A run is ready, built, and done; its bound meets the optimum 2 + 4."""
    events: list[Event] = []
    outcome = run_job(_job(), events.append)
    kinds = [event.kind for event in events]
    assert outcome.ending == "finished"
    assert kinds[0] == "ready"
    assert kinds[-1] == "done"
    assert max(event.data["value"] for event in events if event.kind == "bound") == 6
    assert outcome.peak_memory > 0


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose ``kvopt/running/worker.py`` stands in for the engine's process."""
    package = tmp_path / "kvopt" / "running"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    for beside in (kvopt.running.keeper, kvopt.running.kernel):
        shutil.copy(beside.__file__, package)
    monkeypatch.setattr(kvopt.running.process, "python_path", lambda: str(tmp_path))
    return package / "worker.py"


def test_a_hang_is_killed_at_the_limit(worker: Path) -> None:
    """A process that ignores its limit is killed; what it sent before is not lost."""
    worker.write_text(
        "import json, time\n"
        "data = {'value': 3, 'source': 'x'}\n"
        "print(json.dumps({'kind': 'bound', 'seconds': 0, 'data': data}), flush=True)\n"
        "time.sleep(100)\n"
    )
    events: list[Event] = []
    outcome = run_job(_job(seconds=0.5), events.append, grace=0.2)
    assert outcome.ending == "time_limit"
    assert [event.data["value"] for event in events] == [3]
    assert outcome.seconds < 10


def test_a_segfault_is_named(worker: Path) -> None:
    """A crash names its signal."""
    worker.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    outcome = run_job(_job(), lambda _: None)
    assert (outcome.ending, outcome.detail) == ("crashed", "SIGSEGV")


def test_eating_memory_is_stopped(worker: Path) -> None:
    """Resident memory above the limit ends the run."""
    worker.write_text("import time\nblock = bytearray(b'x' * 400_000_000)\ntime.sleep(100)\n")
    outcome = run_job(_job(seconds=60, memory_limit=0.2), lambda _: None)
    assert outcome.ending == "memory_limit"
    assert outcome.peak_memory > 200_000_000


def test_half_a_line_and_noise_are_skipped(worker: Path) -> None:
    """What is not an event is not taken for one."""
    worker.write_text("print('hello')\nprint('{\"kind\": \"bou', end='')\n")
    events: list[Event] = []
    assert run_job(_job(), events.append).ending == "finished"
    assert events == []


def test_an_infeasible_schedule_is_refused() -> None:
    """A schedule that the checker refuses is never taken, and it is said."""
    progress = Progress(INSTANCE)
    assert not progress.offer(make_schedule(INSTANCE, [0, 0], "liar"), "liar")
    assert "liar" in progress.refused[0]
    assert final_status(progress, None) == "refused"


def test_a_false_bound_is_an_error() -> None:
    """A bound above a checked schedule is no proof of anything."""
    progress = Progress(INSTANCE)
    assert progress.offer(make_schedule(INSTANCE, [0, 3], "fine"), "fine")
    progress.raise_bound(7, "liar")
    assert final_status(progress, None) == "error"


def test_optimal_needs_equal_integers() -> None:
    """A bound one below the TEL is a gap."""
    progress = Progress(INSTANCE)
    progress.offer(make_schedule(INSTANCE, [0, 3], "fine"), "fine")
    progress.raise_bound(5, "bound")
    assert final_status(progress, None) == "feasible"
    progress.raise_bound(6, "bound")
    assert final_status(progress, None) == "optimal"
