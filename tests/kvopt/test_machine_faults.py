"""What a machine lacks is a fault of no method: no row, one line, and exit code 7."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

import kvopt.runs.process
import kvopt.runs.worker
from kvopt.commands.main import main
from kvopt.runs.events import Event, Failure, Report
from kvopt.runs.fork_server import Ends, fork_process
from kvopt.store import Store
from support.machine import LACKS

NO_FILES = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
NO_THREADS = RuntimeError("can't start new thread")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("fault", [NO_FILES, NO_THREADS])
def test_a_run_without_a_process_is_not_stored_and_repeated(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sweep carries out what it can and says what it could not; the same command goes on."""
    asked = ["evaluate", "tiny_handover", "--methods", "svf,fcfs", "--store", "s.sqlite", "--quiet"]

    def failing_once(compiler: bool) -> Ends:
        if not failed:
            failed.append(compiler)
            raise fault
        return fork_process(compiler)

    failed: list[bool] = []
    monkeypatch.setattr(kvopt.runs.process, "fork_process", failing_once)
    assert main(asked) == 7
    (line,) = capsys.readouterr().err.splitlines()
    assert "1 run not carried out: " in line
    assert str(fault.args[-1]) in line
    with closing(Store("s.sqlite")) as store:
        assert [*store.statuses().values()] == ["optimal"]
    assert main(asked) == 0
    with closing(Store("s.sqlite")) as store:
        assert [*store.statuses().values()] == ["optimal"] * 2


def test_one_run_without_a_process_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of the command that runs one method."""

    def failing(compiler: bool) -> Ends:
        if read:
            raise NO_FILES
        read.append(compiler)
        return fork_process(compiler)

    read: list[bool] = []

    monkeypatch.setattr(kvopt.runs.process, "fork_process", failing)
    assert main(["solve", "tiny_handover", "--method", "svf", "--quiet"]) == 7
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "kvopt solve: no process could be started: Too many open files"


def test_what_the_process_of_a_run_lacks_it_says() -> None:
    """Its parent tells it from a failure of the method by how the words begin."""
    told: list[Event] = []
    with kvopt.runs.worker.telling_failures(Report(told.append)):
        raise NO_THREADS
    with kvopt.runs.worker.telling_failures(Report(told.append)):
        raise ImportError("libx.so: failed to map segment from shared object")
    with kvopt.runs.worker.telling_failures(Report(told.append)):
        raise FileNotFoundError(errno.ENOENT, "No such file")
    lacks = [each.text.startswith(LACKS) for each in told if isinstance(each, Failure)]
    assert lacks == [True, True, False]
