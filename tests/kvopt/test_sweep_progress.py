"""What a sweep shows: one line on a terminal from two seconds on; nothing elsewhere or quiet."""

import io
import time

import pytest

import kvopt.run_progress
from instances import Instance, Request
from kvopt.executors.local import run_local
from kvopt.run_progress import SweepDisplay
from kvopt.runs.state import RunState
from kvopt.runs.supervise import RunSnapshot
from schedules import make_schedule
from tests.kvopt.sweep_tools import Patch, Screen, task_of
from tests.reports.synthetic import record


@pytest.fixture
def at_once(monkeypatch: Patch) -> None:
    """Show everything as it comes."""
    monkeypatch.setattr(kvopt.run_progress, "SHOWN_FROM_SECONDS", 0.0)


@pytest.mark.parametrize(
    ("stream", "quiet", "early"),
    [(io.StringIO(), False, False), (Screen(), True, False), (Screen(), False, True)],
)
def test_silence(stream: io.StringIO, quiet: bool, early: bool, monkeypatch: Patch) -> None:
    """In a pipe, quiet on a terminal, and before two seconds are over."""
    if not early:
        monkeypatch.setattr(kvopt.run_progress, "SHOWN_FROM_SECONDS", 0.0)
    shown = SweepDisplay(stream, total=2, quiet=quiet)
    shown.advance(record(status="feasible", total_seconds=10.0))
    shown.close()
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("at_once")
def test_what_runs_now_and_its_gap() -> None:
    """One line, rewritten: while nothing has finished, too; (2 - 1) / 2 = 50 %."""
    # What has finished is named no more, and counted, the most frequent status first.
    stream = Screen()
    one = Instance("[red]one", 2, (Request(0, 0, 1, 1),))
    task = task_of(one, "svf")
    state = RunState(one, "svf")
    state.offer(make_schedule(one, [1], "svf"), "svf")
    shown = SweepDisplay(stream, total=4, quiet=False)
    shown.take(task, RunSnapshot(state))
    state.raise_bound(1, "volumes")
    time.sleep(0.11)
    shown.take(task, RunSnapshot(state))
    for status in ("error", "optimal", "optimal"):
        shown.advance(record(status=status, instance=one.name, method="svf", seed=0))
    shown.close()
    assert "svf on [red]one, gap 50.0 %" in stream.getvalue()
    last = stream.getvalue().rstrip().replace("\r", "\n").splitlines()[-1]
    assert "3/4" in last
    assert "2 optimal, 1 error" in last
    assert "svf" not in last


def test_a_sweep_tells_of_the_runs_under_way() -> None:
    """The executor hands on every snapshot, with the task that it is of."""
    one = Instance("one", 2, (Request(0, 0, 1, 1),))
    tasks = [task_of(one, name) for name in ("svf", "fcfs")]
    seen: set[str] = set()
    results = run_local(
        tasks, 1, lambda task, snapshot: seen.add(f"{task.method.text} {snapshot.ended}")
    )
    assert len(list(results)) == 2
    assert {"svf True", "fcfs True"} <= seen
