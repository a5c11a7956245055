"""What a machine lacks is a fault of no method: no row, one line, and exit code 7."""

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

import kvopt.runs.process
from kvopt.commands.main import main
from kvopt.runs.fork_server import fork_process
from kvopt.runs.worker import describe_failure
from kvopt.store import Store
from support.machine_errors import LACKS
from tests.kvopt.sweep_tools import Capture, Patch

NO_FILES = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
NO_THREADS = RuntimeError("can't start new thread")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)


def _fail_at(number: int, fault: Exception, monkeypatch: Patch) -> None:
    """Have the process with a number not be started."""
    started: list[bool] = []

    def failing(compiler: bool) -> object:
        started.append(compiler)
        if len(started) == number:
            raise fault
        return fork_process(compiler)

    monkeypatch.setattr(kvopt.runs.process, "fork_process", failing)


@pytest.mark.parametrize("fault", [NO_FILES, NO_THREADS])
def test_a_run_without_a_process_is_not_stored_and_repeated(
    fault: Exception, monkeypatch: Patch, capsys: Capture
) -> None:
    """The sweep carries out what it can and says what it could not; the same command goes on."""
    asked = ["evaluate", "tiny_handover", "--methods", "svf,fcfs", "--store", "s.sqlite", "--quiet"]
    _fail_at(1, fault, monkeypatch)
    for code, count in ((7, 1), (0, 2)):
        assert main(asked) == code
        with closing(Store("s.sqlite")) as store:
            assert [*store.statuses().values()] == ["optimal"] * count
    (line,) = capsys.readouterr().err.splitlines()
    assert "1 run not carried out: " in line
    assert str(fault.args[-1]) in line


def test_one_run_without_a_process_is_one_line(monkeypatch: Patch, capsys: Capture) -> None:
    """Also of the command that runs one method, whose first process reads the instance."""
    _fail_at(2, NO_FILES, monkeypatch)
    assert main(["solve", "tiny_handover", "--method", "svf", "--quiet"]) == 7
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "kvopt solve: no process could be started: Too many open files"


def test_what_the_process_of_a_run_lacks_it_says() -> None:
    """Its parent knows it from a failure of the method by how the words begin."""
    missing = FileNotFoundError(errno.ENOENT, "No such file")
    unmapped = ImportError("libx.so: failed to map segment from shared object")
    for fault, lacks in ((NO_THREADS, True), (unmapped, True), (missing, False)):
        with pytest.raises(type(fault)) as raised:
            raise fault
        assert describe_failure(raised.value).text.startswith(LACKS) == lacks
