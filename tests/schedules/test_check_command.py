"""The checker as a command: exit codes, one line, no traceback."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from instances import Instance, Request, write_instance
from schedules import Schedule, make_schedule, write_schedule
from schedules.check_command import main
from tests.commands import run_process

ROOT = Path(__file__).parents[2]
# Request 0 holds 3, 4, 5 at times 1, 2, 3; request 1, started at 1, holds 2, 3 at times 2, 3.
PAIR = Instance(name="pair", memory=8, requests=(Request(0, 0, 2, 3), Request(1, 0, 1, 2)))
GOOD = make_schedule(PAIR, [0, 1], "test")


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, with every warning of the interpreter shown."""
    command = [sys.executable, "-W", "always::RuntimeWarning", "-m", "schedules.check", *arguments]
    return run_process(*command, cwd=ROOT, env=os.environ | environment)


def files(folder: Path, instance: Instance, schedule: Schedule) -> tuple[Path, Path]:
    """Write both files and return their paths."""
    paths = folder / "instance.json", folder / "schedule.json"
    write_instance(instance, paths[0])
    write_schedule(schedule, paths[1])
    return paths


def test_a_verdict_is_one_line_with_its_exit_code(tmp_path: Path) -> None:
    """Nothing is on stderr (so no warning of runpy either); what is valid exits with 0 below."""
    tight = dataclasses.replace(PAIR, memory=7)
    done = run(*files(tmp_path, tight, make_schedule(tight, [0, 1], "test")))
    assert (done.returncode, done.stderr) == (21, "")
    assert done.stdout.startswith("infeasible: at time 3, 8 tokens are held")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["one"], ["one", "two", "three"], ["--unknown"]])
def test_bad_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Too few, too many or unknown arguments exit with 2 and one line."""
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("broken", ["instance", "schedule"])
@pytest.mark.parametrize("content", [None, b"{", b"\xff\xfe", b'{"schema": "other"}'])
def test_an_unreadable_file_exits_with_10(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str, content: bytes | None
) -> None:
    """A file that is missing or not of its format gives one line on stderr and exit code 10."""
    instance, schedule = files(tmp_path, PAIR, GOOD)
    target = instance if broken == "instance" else schedule
    if content is None:
        target.unlink()
    else:
        target.write_bytes(content)
    assert main([str(instance), str(schedule)]) == 10
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert str(target) in err
    # A request larger than the memory: 2 + 3 = 5 > 4.
    write_schedule(GOOD, schedule)
    write_instance(PAIR, instance)
    instance.write_text(instance.read_text().replace('"memory": 8', '"memory": 4'))
    assert main([str(instance), str(schedule)]) == 10
    assert "request id 0 needs 2 + 3 = 5 tokens" in capsys.readouterr().err


def test_a_name_that_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    """Letters outside of the terminal's encoding do not end the command in a traceback."""
    named = dataclasses.replace(PAIR, name="größe 日本")
    done = run(*files(tmp_path, named, make_schedule(named, [0, 1], "t")), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6" in done.stdout
