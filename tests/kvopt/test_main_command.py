"""The command ``kvopt``: every subcommand does what its script or module does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kvopt
import kvopt.best_known.__main__
import kvopt.commands.evaluate
import kvopt.commands.solve
from kvopt.commands.main import COMMANDS, main
from schedules import write_schedule
from tests.commands import run_command
from tests.kvopt.conftest import Refused

ROOT = Path(__file__).resolve().parents[2]


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
    assert all(f"\n  {name} " in told for name in COMMANDS.commands)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kvopt {kvopt.__version__}\n"


def test_a_claimed_bound_is_said_to_be_unchecked(tmp_path: Path) -> None:
    """The checker of ``kvopt check`` proves the TEL of a file, and no bound in it."""
    found, file = kvopt.run("tiny_handover", "svf").required_schedule("of"), tmp_path / "x.json"
    for bound, told in ((9, "claims lower bound 9 (status optimal)"), (None, "")):
        status: Any = "optimal" if bound else "feasible"
        write_schedule(replace(found, lower_bound=bound, status=status), file)
        ran = run_command(main, "check", "tiny_handover", file, program="kvopt")
        verdict, _, note = ran.stdout.partition("\n")
        assert (ran.returncode, verdict[:6], bool(note)) == (0, "valid:", bool(bound))
        assert told in note


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
