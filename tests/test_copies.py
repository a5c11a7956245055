"""A command in a copy does what an interpreter does of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.copies import ROOT, run_copy

#: Where a command runs, what it was called with and what its environment holds; then it fails.
TELLING = """\
import os, sys
print(os.getcwd(), sys.argv[1:], sorted(set(os.environ) - {"KVOPT_TEST_COPIES"}))
print("to standard error", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize(
    "command",
    [
        (ROOT / "solve.py", "nowhere.json"),
        ("-m", "schedules.check", "nowhere.json", "nowhere.json"),
        ("-m", "kvopt", "--help"),
    ],
    ids=lambda command: str(command[1]),
)
def test_a_copy_ends_as_an_interpreter(command: tuple[object, ...], tmp_path: Path) -> None:
    """Exit code and both streams are the same."""
    copy = run_copy(*command, cwd=tmp_path)
    afresh = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    told = (afresh.returncode, afresh.stdout, afresh.stderr)
    assert (copy.returncode, copy.stdout, copy.stderr) == told


def test_a_copy_has_its_own_folder_arguments_and_environment(tmp_path: Path) -> None:
    """Nothing of the process that is copied is seen, and nothing of this one that is not given."""
    script = tmp_path / "tell.py"
    script.write_text(TELLING)
    copy = run_copy(script, 3, "a b", cwd=tmp_path, env={"ONLY": "this"})
    assert copy.returncode == 3
    assert copy.stdout == f"{tmp_path} ['3', 'a b'] ['ONLY']\n"
    assert copy.stderr == "to standard error\n"


def test_a_copy_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """As ``subprocess.run`` does, with what it has printed so far."""
    script = tmp_path / "sleep.py"
    script.write_text("import time\nprint('so far', flush=True)\ntime.sleep(60)\n")
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        run_copy(script, timeout=0.5)
    assert caught.value.output == "so far\n"


def test_a_copy_that_is_killed_tells_the_signal(tmp_path: Path) -> None:
    """Its code is the negative number, as ``Popen`` tells it."""
    script = tmp_path / "kill.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert run_copy(script).returncode == -9
