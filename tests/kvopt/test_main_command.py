"""The command ``kvopt``: every subcommand does what its script or module does."""

import re
from pathlib import Path

import pytest

import instances.generate
import kvopt
import kvopt.best_known.__main__
import kvopt.commands.evaluate
import kvopt.commands.solve
import schedules.check_command
from kvopt.commands.main import main
from tests.commands import run_command
from tests.kvopt.conftest import Refused

ROOT = Path(__file__).resolve().parents[2]
#: Commands by the subcommand that does the same.
BEFORE = {
    "solve": kvopt.commands.solve.main,
    "evaluate": kvopt.commands.evaluate.main,
    "check": schedules.check_command.main,
    "generate": instances.generate.main,
    "best-known": kvopt.best_known.__main__.main,
}


@pytest.mark.parametrize(
    ("subcommand", "arguments"),
    [
        *((name, ("--help",)) for name in BEFORE),
        *((name, ("--nonsense",)) for name in BEFORE),
        ("solve", ("unifrom_100",)),
        ("evaluate", ("am1_000",)),
        ("check", ("am1_00", "nowhere.json")),
        ("generate", ("am1", "--set", "n=3")),
        ("best-known", ()),
    ],
)
def test_a_subcommand_is_the_same_under_another_name(
    subcommand: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Exit code and both streams are those of the script, but for the name that was typed."""
    before = BEFORE[subcommand]
    old = run_command(before, *arguments, cwd=tmp_path)
    new = run_command(main, subcommand, *arguments, cwd=tmp_path, program="kvopt")
    name, typed = str(before.name), f"kvopt {subcommand}"
    assert new.returncode == old.returncode
    for told, expected in ((new.stderr, old.stderr), (new.stdout, old.stdout)):
        if "Usage: " in told:  # the width of the name decides where lines break
            told, expected = " ".join(told.split()), " ".join(expected.split())
        assert told == re.sub(rf"{re.escape(name)}(?![.\w])", typed, expected)
    if new.returncode:
        assert new.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["slove", "x"], "No such command 'slove'."),
        (["Best_known"], "No such command 'Best_known'."),
        ([], "Missing command."),
    ],
)
def test_an_unknown_subcommand_is_one_line_with_the_nearest(
    given: list[str], told: str, refused: Refused
) -> None:
    """Also none at all; the exit code is that of bad usage."""
    assert refused(main, *given).startswith(f"kvopt: {told}")


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names every subcommand."""
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {name} " in told for name in BEFORE)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kvopt {kvopt.__version__}\n"


def test_a_custom_file_is_said_to_be_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    """In the help of each command that takes one, as in the README."""
    for name in ("solve", "evaluate", "rates"):
        assert main([name, "--help"]) == 0
        assert "file:PATH, a program with your rights" in " ".join(capsys.readouterr().out.split())
    assert "runs with your permissions" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_default_store_lies_in_the_current_folder(tmp_path: Path) -> None:
    """Wherever the sources are; the same command finds it again."""
    for now in (1, 0):
        arguments = ("tiny_handover", "--methods", "svf")
        ran = run_command(kvopt.commands.evaluate.main, *arguments, cwd=tmp_path)
        assert f"of which {now} now" in ran.stdout, ran.stderr
        assert "results/runs.sqlite" in ran.stdout
    assert (tmp_path / "results" / "runs.sqlite").is_file()
