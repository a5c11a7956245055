"""The reader of the output may go, and its disk may be full: results come all the same."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from instances import read_instance
from kvopt.store.row_files import read_rows
from schedules import check_schedule
from schedules.schedule_files import read_schedule
from tests.commands import run_process
from tests.kvopt.sweep_tools import ROOT, start_solve, summary_of, wait_for_an_incumbent
from tests.tiers import a_few


def _shell(line: str, **paths: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell with ``python`` and paths filled in."""
    filled = line.format(python=sys.executable, root=ROOT, **paths)
    return run_process("bash", "-c", filled, cwd=ROOT)


@pytest.mark.parametrize("reader", a_few(("| head -1", ">&- 2>&- <&-", "| true", ">&-", "2>&-"), 2))
def test_a_reader_that_has_gone(reader: str, small: Path, tmp_path: Path) -> None:
    """The schedule is written, and nothing is said of the reader."""
    out = tmp_path / "out.json"
    line = f"{{python}} {{root}}/solve.py {{small}} --solver cpsat --out {{out}} {reader}"
    result = _shell(line, small=small, out=out)
    assert (result.returncode, result.stderr) == (0, "")
    assert read_schedule(out).tel == 12


def test_a_full_disk_under_the_output(small: Path, tmp_path: Path) -> None:
    """The schedule is written, one line says why the summary is not, and the code is 2."""
    out = tmp_path / "out.json"
    line = "{python} {root}/solve.py {small} --policy svf --out {out} > /dev/full"
    result = _shell(line, small=small, out=out)
    told = "solve.py: standard output could not be written: No space left on device\n"
    assert (result.returncode, result.stderr) == (2, told)
    assert check_schedule(read_instance(small), read_schedule(out)).valid


@pytest.mark.parametrize(
    "command",
    [
        *("{root}/solve.py --list", "-m schedules.check {small} {out}"),
        *a_few(["{root}/evaluate.py --list", "-m instances.generate --list", "-m kvopt --help"], 0),
    ],
)
def test_every_command_says_so_in_one_line(command: str, small: Path, tmp_path: Path) -> None:
    """No traceback, and a code that is not 0."""
    out = tmp_path / "out.json"
    _shell("{python} {root}/solve.py {small} --policy svf --out {out}", small=small, out=out)
    result = _shell(f"{{python}} {command} > /dev/full", small=small, out=out)
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert "No space left" in result.stderr


def test_a_sweep_goes_on_without_its_reader(small: Path, tmp_path: Path) -> None:
    """Both runs are stored and exported though nobody reads on."""
    store, export = tmp_path / "runs.sqlite", tmp_path / "rows.csv"
    line = "{python} {root}/evaluate.py {small} --methods svf,fcfs --store {store} "
    line += "--export {export} | true"
    result = _shell(line, small=small, store=store, export=export)
    assert result.stderr == ""
    assert len(read_rows(store)) == len(read_rows(export)) == 2


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_in_mid_solve(
    signum: signal.Signals, twice: bool, hard: Path, tmp_path: Path
) -> None:
    """To the command alone, or twice to all: the best schedule so far is written, and exit 0."""
    out = tmp_path / "out.json"
    process = start_solve(hard, "--solver", "cpsat", "--out", out)
    wait_for_an_incumbent(process)
    group = psutil.Process(process.pid)
    for each in [group, *group.children()] * 2 if twice else [group]:
        with contextlib.suppress(psutil.NoSuchProcess):  # the first signal has ended it
            each.send_signal(signum)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert "interrupted" in summary_of(output)["note"]
    assert check_schedule(read_instance(hard), read_schedule(out)).valid


@pytest.mark.parametrize("after", [0.0, 0.0005, 0.001, 0.002, 0.004, 0.1, 0.3])
def test_interrupted_while_it_starts(after: float, hard: Path, tmp_path: Path) -> None:
    """One line or a schedule, and a documented code; never a traceback."""
    process = start_solve(hard, "--out", tmp_path / "out.json", "--time-limit", "5")
    deadline = time.monotonic() + 30
    watcher = psutil.Process(process.pid)
    while not watcher.children():  # it watches from now on
        assert time.monotonic() < deadline
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode in (0, 130)
    assert len(err.splitlines()) <= 1
