"""What a run prints while it goes on: at most one line a second in a pipe, one on a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import kvopt.terminal
import support.progress
from instances import Instance, Request
from instances.named import FOLDER
from kvopt.best_known.files import read_registry
from kvopt.best_known.registry import faults
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Snapshot
from kvopt.terminal import ProgressLines
from schedules import make_schedule
from support.progress import showing, telling
from tests.kvopt.sweep_tools import ROOT, Screen

#: One fits at a time, so TEL is 1 + 2 + 3 = 6 at best.
THREE = Instance("three", 2, tuple(Request(i, 0, 1, 1) for i in range(3)))


class _Clock:
    """A clock that stands still until it is put forward."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """Return the time that was set."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    """The clock of what is printed."""
    found = _Clock()
    monkeypatch.setattr(kvopt.terminal, "time", found)
    monkeypatch.setattr(support.progress, "time", found)
    return found


def _run(stream: io.StringIO, clock: _Clock) -> None:
    """Show four schedules within a second, one after two, and a bound with the end."""
    lines, state = ProgressLines(stream, clock.now, quiet=False), RunState(THREE, "m")
    for seconds, tel in ((0.1, 12), (0.3, 11), (0.5, 10), (0.9, 9), (1.0, 9), (2.0, 8), (2.2, 7)):
        clock.now = 100.0 + seconds
        # TEL = the sum of starts and outputs: 0 + 1 + (TEL - 4) + 3.
        state.offer(make_schedule(THREE, [0, 1, tel - 4], "m"), "m")
        lines(Snapshot(state))
    state.raise_bound(6, "volumes")
    lines(Snapshot(state, ended=True))


def test_one_line_a_second_in_a_pipe_and_the_last_state_in_any_case(clock: _Clock) -> None:
    """The first at once; what comes within a second is merged; at the end what was not shown."""
    stream = io.StringIO()
    _run(stream, clock)
    header, *lines = stream.getvalue().splitlines()
    assert header.split() == ["seconds", "incumbent", "bound", "gap", "%", "from"]
    shown = [line.split()[:3] for line in lines]
    column = header.index("incumbent") + len("incumbent")
    assert [line[:column].split()[1] for line in lines] == [tel for _, tel, _ in shown]
    assert shown == [["0.1", "12", "-"], ["2.0", "8", "-"], ["2.2", "7", "6"]]


def test_one_line_on_a_terminal_is_rewritten(clock: _Clock) -> None:
    """Beside the header there is one line, which ends as it was at last, whole and covered."""
    screen = Screen()
    _run(screen, clock)
    _, line, rest = screen.getvalue().split("\n")
    assert rest == ""
    states = line.split("\r")[1:]
    assert states[0].split()[:2] == ["0.1", "12"]
    assert states[-1].split()[:3] == ["2.2", "7", "6"]
    assert all(len(after) >= len(before.rstrip()) for before, after in pairwise(states))


def test_without_news_a_pipe_gets_a_line_every_five_seconds(clock: _Clock) -> None:
    """On a terminal the seconds go on."""
    stream, screen = io.StringIO(), Screen()
    for each in (stream, screen):
        clock.now = 100.0
        lines, state = ProgressLines(each, clock.now, quiet=False), RunState(THREE, "m")
        state.offer(make_schedule(THREE, [0, 1, 3], "m"), "m")
        for second in range(12):
            clock.now = 100.0 + second
            lines(Snapshot(state))
    told = [line.split()[0] for line in stream.getvalue().splitlines()[1:]]
    assert told == ["0.0", "5.0", "10.0"]
    assert len(screen.getvalue().split("\r")) == 13


def test_quiet_shows_nothing(clock: _Clock) -> None:
    """Neither schedules nor compiling."""
    stream, state = io.StringIO(), RunState(THREE, "m")
    state.offer(make_schedule(THREE, [0, 1, 3], "m"), "m")
    lines = ProgressLines(stream, clock.now, quiet=True)
    lines(Snapshot(state, 5.0, (1, 2)))
    lines(Snapshot(state, ended=True))
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()], ids=["pipe", "screen"])
def test_work_of_many_steps_is_told_from_two_seconds_on(stream: io.StringIO, clock: _Clock) -> None:
    """All items come; a pipe has a line every five seconds, a terminal one that is rewritten.

    The last says that all is done.
    """
    done = []
    with showing(stream):
        for item in telling("abcdefghij", "letters"):
            done.append(item)
            clock.now += 1.0
    assert done == list("abcdefghij")
    told = [f"{second}.0 s  letters: {second}/10" for second in range(11)]
    shown = [line.strip() for line in stream.getvalue().replace("\r", "\n").splitlines()]
    expected = told[2:] if stream.isatty() else [told[2], told[7], told[10]]
    assert [line for line in shown if line] == expected


def test_how_far_a_command_is_counts_from_its_beginning(clock: _Clock) -> None:
    """A second kind is told once some is done; of what is not known to end no end is told."""
    screen = Screen()
    with showing(screen):
        list(telling("abc", "letters"))
        clock.now += 3.0
        assert list(telling(iter("ab"), "signs")) == ["a", "b"]
        clock.now += 1.0
        assert list(telling("a", lambda: "a text of its own")) == ["a"]
    first, second, rest = screen.getvalue().split("\n")
    assert first.split("\r")[1:] == ["      3.0 s  signs: 1", "      3.0 s  signs: 2"]
    assert set(second.split("\r")[1:]) == {"      4.0 s  a text of its own"}
    assert rest == ""


def test_nobody_is_told_who_is_quiet_or_calls_a_function(clock: _Clock) -> None:
    """With ``--quiet`` and from Python the items come, and nothing is printed."""
    stream = io.StringIO()
    with showing(stream, quiet=True):
        clock.now += 3.0
        assert list(telling("abc", "letters")) == list("abc")
    assert list(telling("abc", "letters")) == list("abc")
    assert stream.getvalue() == ""


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


@pytest.mark.slow("waits")
def test_a_long_trace_on_a_real_terminal_and_in_a_real_pipe(tmp_path: Path) -> None:
    """Rows read are one line that is rewritten, or one line; requests written are another."""
    rows = "".join(f"{i % 9 + 1},{i % 5 + 1}\n" for i in range(100_000))
    trace = tmp_path / "long.csv"
    trace.write_text(f"num_prefill_tokens,num_decode_tokens\n{rows}")
    program = (
        "import support.progress, sys\n"
        "support.progress.TOLD_FROM_SECONDS = 0.0\n"
        "support.progress.REWRITTEN_EVERY_SECONDS = 0.0\n"
        "from instances.traces.convert import main\n"
        "sys.exit(main())\n"
    )
    out = str(tmp_path / "long.json")
    command = [sys.executable, "-c", program, str(trace), "--memory", "99", "--out", out]
    read, *_, written, end = _on_a_terminal(command).split("\n")
    assert len(read.split("\r")) > 2
    assert "20,000 rows of the trace read" in read
    assert "requests written: 100000/100000" in written.split("\r")[-1]
    assert end == ""
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stdout == ""
    assert "\r" not in piped.stderr
    # A second comes five seconds later, if at all.
    assert re.search(r" s  [\d,]+ rows of the trace read$", piped.stderr.splitlines()[0])
    quiet = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=True)
    assert quiet.stderr == ""


def test_a_real_terminal_and_a_real_pipe(small: Path) -> None:
    """On a terminal two rows before the summary, the header and one; no return in a pipe."""
    command = [sys.executable, str(ROOT / "solve.py"), str(small), "--method", "auto"]
    rows = _on_a_terminal(command).split("\n")
    head = next(i for i, row in enumerate(rows) if "incumbent" in row)
    assert rows[head + 1].startswith("\r")
    assert rows[head + 2].startswith("instance ")
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = piped.splitlines()
    between = lines[2 : next(i for i, line in enumerate(lines) if line.startswith("instance "))]
    assert "\r" not in piped
    assert between


def test_a_check_of_the_registry_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error; of an empty library every entry is a fault, which takes no time."""
    monkeypatch.setattr(support.progress, "TOLD_FROM_SECONDS", 0.0)
    registry = read_registry(FOLDER)
    assert registry is not None
    with showing(sys.stderr):
        assert len(list(faults(registry, {}))) >= len(registry.instances)
    told = capsys.readouterr()
    assert told.out == ""
    assert f"entries verified: 0/{len(registry.instances)}" in told.err
