"""Progress of a run: at most one line a second in a pipe, one line on a terminal."""

import contextlib
import io
import os
import pty
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

import kvopt.run_progress
import support.progress
from instances import Instance, Request
from kvopt.run_progress import ProgressLines
from kvopt.runs.state import RunState
from kvopt.runs.supervise import RunSnapshot
from schedules import make_schedule
from support.progress import count_progress, show_progress
from tests.commands import run_process
from tests.kvopt.sweep_tools import ROOT, Screen

#: One fits at a time, so TEL is 1 + 2 + 3 = 6 at best.
THREE = Instance("three", 2, tuple(Request(i, 0, 1, 1) for i in range(3)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of what is printed, which stands still until it is put forward."""
    found = SimpleNamespace(now=100.0)
    found.monotonic = lambda: found.now
    monkeypatch.setattr(kvopt.run_progress, "time", found)
    return found


def _run(stream: io.StringIO, clock: SimpleNamespace) -> None:
    """Show four schedules within a second, one after two, and a bound with the end."""
    lines, state = ProgressLines(stream, clock.now, quiet=False), RunState(THREE, "m")
    for seconds, tel in ((0.1, 12), (0.3, 11), (0.5, 10), (0.9, 9), (1.0, 9), (2.0, 8), (2.2, 7)):
        clock.now = 100.0 + seconds
        # TEL = the sum of starts and outputs: 0 + 1 + (TEL - 4) + 3.
        state.offer(make_schedule(THREE, [0, 1, tel - 4], "m"), "m")
        lines(RunSnapshot(state))
    state.raise_bound(6, "volumes")
    lines(RunSnapshot(state, ended=True))


def test_one_line_a_second_in_a_pipe_and_the_last_state_in_any_case(clock: SimpleNamespace) -> None:
    """The first at once; what comes within a second is merged; at the end what was not shown."""
    stream = io.StringIO()
    _run(stream, clock)
    header, *lines = stream.getvalue().splitlines()
    assert header.split() == ["seconds", "incumbent", "bound", "gap", "%", "from"]
    shown = [line.split()[:3] for line in lines]
    column = header.index("incumbent") + len("incumbent")
    assert [line[:column].split()[1] for line in lines] == [tel for _, tel, _ in shown]
    assert shown == [["0.1", "12", "-"], ["2.0", "8", "-"], ["2.2", "7", "6"]]


def test_one_line_on_a_terminal_is_rewritten(clock: SimpleNamespace) -> None:
    """Beside the header there is one line, which ends as it was at last, whole and covered."""
    screen = Screen()
    _run(screen, clock)
    _, line, rest = screen.getvalue().split("\n")
    assert rest == ""
    states = [state for state in line.split("\r") if state]
    assert states[0].split()[:2] == ["0.1", "12"]
    assert states[-1].split()[:3] == ["2.2", "7", "6"]
    assert all(len(after) >= len(before.rstrip()) for before, after in pairwise(states))


def test_without_news_a_pipe_gets_a_line_every_five_seconds(clock: SimpleNamespace) -> None:
    """On a terminal the seconds go on."""
    stream, screen = io.StringIO(), Screen()
    for each in (stream, screen):
        clock.now = 100.0
        lines, state = ProgressLines(each, clock.now, quiet=False), RunState(THREE, "m")
        state.offer(make_schedule(THREE, [0, 1, 3], "m"), "m")
        for second in range(12):
            clock.now = 100.0 + second
            lines(RunSnapshot(state))
    told = [line.split()[0] for line in stream.getvalue().splitlines()[1:]]
    assert told == ["0.0", "5.0", "10.0"]
    assert len(set(screen.getvalue().split("\r")[1:])) == 12


def test_quiet_shows_nothing(clock: SimpleNamespace) -> None:
    """Neither schedules nor compiling."""
    stream, state = io.StringIO(), RunState(THREE, "m")
    state.offer(make_schedule(THREE, [0, 1, 3], "m"), "m")
    lines = ProgressLines(stream, clock.now, quiet=True)
    lines(RunSnapshot(state, 5.0, (1, 2)))
    lines(RunSnapshot(state, ended=True))
    assert stream.getvalue() == ""


def test_work_of_many_steps_is_told_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """All items come; the last line says that all is done, of how many where that is known."""
    monkeypatch.setattr(support.progress, "SHOWN_FROM_SECONDS", 0.0)
    screen = Screen()
    with show_progress(screen):
        assert list(count_progress("abcdefghij", "letters")) == list("abcdefghij")
        assert list(count_progress(iter("ab"), "signs")) == ["a", "b"]
    first, second, _ = screen.getvalue().split("\n")
    assert "letters: 100%" in first
    assert "10/10" in first
    assert "signs: 2" in second


def test_short_work_and_work_elsewhere_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below two seconds; with ``--quiet``, in a pipe and from Python the items come."""
    screen, pipe = Screen(), io.StringIO()
    with show_progress(screen):
        assert list(count_progress("abc", "letters")) == list("abc")
    monkeypatch.setattr(support.progress, "SHOWN_FROM_SECONDS", 0.0)
    with show_progress(screen, quiet=True):
        assert list(count_progress("abc", "letters")) == list("abc")
    with show_progress(pipe):
        assert list(count_progress("abc", "letters")) == list("abc")
    assert list(count_progress("abc", "letters")) == list("abc")
    assert screen.getvalue() == pipe.getvalue() == ""


def _on_a_terminal(command: list[str]) -> str:
    """Return what a command that succeeds shows on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # how a terminal tells its end
            while chunk := os.read(ours, 1 << 16):
                text += chunk
    os.close(ours)
    assert process.returncode == 0
    return text.decode().replace("\r\n", "\n")


def test_a_real_terminal_and_a_real_pipe(small: Path) -> None:
    """On a terminal two rows before the summary, the header and one; no return in a pipe."""
    command = [sys.executable, str(ROOT / "solve.py"), str(small), "--method", "auto"]
    rows = _on_a_terminal(command).split("\n")
    head = next(i for i, row in enumerate(rows) if "incumbent" in row)
    assert rows[head + 1].startswith("\r")
    assert rows[head + 2].startswith("instance ")
    piped = run_process(*command, check=True).stdout
    lines = piped.splitlines()
    between = lines[2 : next(i for i, line in enumerate(lines) if line.startswith("instance "))]
    assert "\r" not in piped
    assert between
