"""Small instances as files, and the command as a user calls it."""

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import kvopt.commands.solve
import kvopt.runs.supervise
from instances import Instance, Request, write_instance
from tests.commands import run_command, run_process
from tests.kvopt.sweep_tools import ended, start_solve
from tests.stand_in import PLAYED

#: What a small disk holds.
DISK_BYTES = 1_000_000
Command = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]
#: Am1-like: no engine closes it within seconds, and no policy finds its best schedules.
HARD = Instance("hard", 45, tuple(Request(i, 0, 1 + i % 5, 2 + (7 * i) % 38) for i in range(45)))


@pytest.fixture
def solve() -> Command:
    """Call the command ``solve.py`` with the given arguments."""
    return partial(run_command, kvopt.commands.solve.main)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that must end with 2 and one line, here; the line comes back."""

    def run(main: Callable[[list[str]], int], *arguments: object) -> str:
        assert main([*map(str, arguments)]) == 2
        shown = capsys.readouterr()
        (line,) = shown.err.splitlines()
        assert shown.out == ""
        return line

    return run


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have a piece of Python stand in for the process of a run (``tests.stand_in``)."""
    monkeypatch.setattr(kvopt.runs.supervise, "WORKER", "tests.stand_in:play")
    return partial(monkeypatch.setenv, PLAYED)


@pytest.fixture
def quick_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the bound beside policies end soon, and no store of the user's looked at."""
    monkeypatch.setattr("kvopt.commands.companion_runs.CompanionRuns.share", 0.005)
    monkeypatch.setattr("serving.best_bound.DEFAULT_STORE", tmp_path / "none.sqlite")


@pytest.fixture
def solve_afresh() -> Command:
    """Run it by an interpreter of its own, whose start counts."""
    return lambda *arguments: ended(start_solve(*arguments))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An instance whose optimum, 12, no policy finds (J1 Theorem 4.2's counterexample)."""
    path = tmp_path / "small.json"
    requests = tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3)))
    write_instance(Instance("small", 5, requests), path)
    return path


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """That instance as a file."""
    path = tmp_path / "hard.json"
    write_instance(HARD, path)
    return path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = run_process("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
