"""What a sweep shows: one line on a terminal, timed lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
import time
from collections import Counter

import pytest

import kvopt.sweeps.progress
from instances import Instance, Request
from kvopt.executors.local import LocalExecutor
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Snapshot
from kvopt.sweeps.progress import Display, counts
from schedules import make_schedule
from tests.kvopt.sweep_tools import Screen, task_of
from tests.reports.synthetic import record


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show everything as it comes."""
    for name in ("TOLD_FROM_SECONDS", "EVERY_SECONDS", "REWRITTEN_EVERY_SECONDS"):
        monkeypatch.setattr(kvopt.sweeps.progress, name, 0.0)


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after two seconds and one at the end, with counts and the rest: 8 · 10 s / 2."""
    stream = io.StringIO()
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    shown = Display(stream, total=10, jobs=2, quiet=False)
    now += 1.9
    shown.advance(record(status="optimal", total_seconds=10.0))
    assert stream.getvalue() == ""
    now += 0.1
    shown.advance(record(status="crashed", total_seconds=10.0))
    (line,) = stream.getvalue().splitlines()
    assert "2.0 s" in line
    assert "2/10" in line
    assert "0:00:40 left  1 optimal" in line
    assert line.endswith("1 optimal, 1 crashed")
    now += 9.9
    shown.close()
    assert len(stream.getvalue().splitlines()) == 1
    shown.advance(record(status="optimal", total_seconds=10.0))
    shown.close()
    assert len(stream.getvalue().splitlines()) == 2


@pytest.mark.usefixtures("at_once")
def test_one_line_on_a_terminal() -> None:
    """It is rewritten, and shows the counts per status and the rest: 1 · 3600 s, then nothing."""
    stream = Screen()
    shown = Display(stream, total=2, jobs=1, quiet=False)
    for _ in range(2):
        shown.advance(record(status="feasible", total_seconds=3600.0))
    shown.close()
    first, second = stream.getvalue().rstrip().split("\r")[1:]
    assert "1/2   1:00:00 left  1 feasible" in first
    assert "2/2   0:00:00 left  2 feasible" in second


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()])
def test_quiet_is_silent(stream: io.StringIO) -> None:
    """On a terminal too."""
    shown = Display(stream, total=2, jobs=1, quiet=True)
    shown.advance(record(status="feasible", total_seconds=10.0))
    shown.close()
    assert stream.getvalue() == ""


def test_the_most_frequent_status_first() -> None:
    """Counts are read from the left."""
    tally = Counter(["error", "optimal", "optimal"])
    assert counts(tally) == "2 optimal, 1 error"


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()], ids=["pipe", "terminal"])
@pytest.mark.usefixtures("at_once")
def test_what_runs_now_and_its_gap(stream: io.StringIO) -> None:
    """While nothing has finished, too; (2 - 1) / 2 = 50 %; what has finished is named no more."""
    one = Instance("[red]one", 2, (Request(0, 0, 1, 1),))
    task = task_of(one, "svf")
    state = RunState(one, "svf")
    state.offer(make_schedule(one, [1], "svf"), "svf")
    shown = Display(stream, total=2, jobs=1, quiet=False)
    shown.take(task, Snapshot(state))
    state.raise_bound(1, "volumes")
    shown.take(task, Snapshot(state))
    shown.advance(record(status="optimal", instance=one.name, method="svf", seed=0))
    shown.close()
    told = stream.getvalue()
    assert "svf on [red]one, gap 50.0 %" in told
    assert told.rstrip().replace("\r", "\n").splitlines()[-1].count("svf") == 0


@pytest.mark.usefixtures("at_once")
def test_of_many_runs_the_first_are_named() -> None:
    """The others are counted."""
    stream = io.StringIO()
    shown = Display(stream, total=9, jobs=9, quiet=False)
    for number in range(6):
        one = Instance(f"i{number}", 2, (Request(0, 0, 1, 1),))
        shown.take(task_of(one, "svf", seed=number), Snapshot(RunState(one, "svf")))
    last = stream.getvalue().splitlines()[-1]
    assert last.endswith("now svf on i0; svf on i1; svf on i2; svf on i3; 2 more")


def test_a_sweep_tells_of_the_runs_under_way() -> None:
    """The executor hands on every snapshot, with the task that it is of."""
    one = Instance("one", 2, (Request(0, 0, 1, 1),))
    tasks = [task_of(one, name) for name in ("svf", "fcfs")]
    seen: set[str] = set()
    executor = LocalExecutor(
        1, lambda task, snapshot: seen.add(f"{task.method.text} {snapshot.ended}")
    )
    assert len(list(executor.run(tasks))) == 2
    assert {"svf True", "fcfs True"} <= seen
