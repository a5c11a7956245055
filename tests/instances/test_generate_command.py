"""The command ``python -m instances.generate``: files, listing, and one line for every mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from instances import read_instance
from instances.families import am1, families, late_burst, planted
from instances.files import format_instance
from instances.generate import main

ROOT = Path(__file__).parents[2]


def test_the_instance_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --out the file's text, and nothing else, is printed."""
    assert main(["am1", "--seed", "3", "--set", "n=8"]) == 0
    assert capsys.readouterr().out == format_instance(am1.generate(seed=3, n=8))


def test_the_instance_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --out the file is written and reads as the instance; nothing is printed."""
    path = tmp_path / "one.json"
    arguments = ["planted", "--set", "online=true", "--set", "waves=4", "--out", str(path)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == ""
    assert read_instance(path) == planted.generate(waves=4, online=True)


def test_values_are_read_by_their_types(capsys: pytest.CaptureFixture[str]) -> None:
    """Integers, numbers and words arrive as the generator declares them."""
    assert main(["late_burst", "--set", "variant=theorem-6.2", "--set", "memory=64"]) == 0
    expected = late_burst.generate(memory=64, variant="theorem-6.2")
    assert capsys.readouterr().out == format_instance(expected)
    assert main(["geometric", "--set", "p=0.5", "--set", "n=3"]) == 0
    assert len(json.loads(capsys.readouterr().out)["requests"]) == 3


def test_every_family_can_be_generated(capsys: pytest.CaptureFixture[str]) -> None:
    """Each listed family works without a parameter."""
    for name in families():
        assert main([name]) == 0
        assert json.loads(capsys.readouterr().out)["family"] == name


def test_the_listing_names_every_family(capsys: pytest.CaptureFixture[str]) -> None:
    """--list shows each family's name, summary and parameters."""
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for family in families().values():
        assert f"{family.name} " in shown
        assert family.summary in shown
    assert "n=100, memory=100, longest=50, mean=25.0, deviation=8.33" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a FAMILY; --list names them"),
        (["nope"], "expected a family, found 'nope'; --list names them"),
        (["am1", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["am1", "--seed", "-1"], "am1: seed: expected at least 0, found -1"),
        (["am1", "--bogus"], "unrecognized arguments: --bogus"),
        (["am1", "--set", "n=0"], "am1: n: expected at least 1, found 0"),
        (["am1", "--set", "n"], "--set 'n': expected KEY=VALUE, each key once, from n, memory"),
        (["am1", "--set", "q=1"], "--set 'q=1': expected KEY=VALUE"),
        (["am1", "--set", "seed=1"], "--set 'seed=1': expected KEY=VALUE"),
        (["am1", "--set", "n=1", "--set", "n=2"], "--set 'n=2': expected KEY=VALUE"),
        (["am1", "--set", "n=1.5"], "--set 'n=1.5': Input should be a valid integer"),
        (["am1", "--set", "n=\n"], "--set 'n=\\n': Input should be a valid integer"),
        (["late-burst", "--set", "variant=z"], "--set 'variant=z': Input should be"),
        (["planted", "--set", "online=maybe"], "--set 'online=maybe': Input should be"),
        (["uniform", "--set", "memory=9999999999"], "uniform: memory: Input should be less"),
        (["uniform", "--set", "memory=99"], "uniform: memory: expected at least 2 * longest"),
        (
            ["uniform", "--out", "/no/such/folder/x.json"],
            "--out /no/such/folder/x.json: there is no",
        ),
        (["uniform", "--out", "a\0b"], "--out a\\x00b: "),
        (["uniform", "--out", "x" * 300], f"--out {'x' * 300}: File name too long"),
        (["uniform", "--out", "."], "--out .: expected a file to write, found a directory"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every mistake ends with exit code 2, one line on stderr and nothing on stdout."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"python -m instances.generate: {message}")
    assert shown.err.count("\n") == 1


def test_a_reader_that_stops_early_sees_no_complaint() -> None:
    """Closing the pipe after the first bytes, as head does, gives no traceback."""
    command = [sys.executable, "-m", "instances.generate", "total-trap"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
