"""Schedules from outside: each is judged in a line, the better ones enter the registry."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kvopt.best_known.__main__
import support.json_files
from instances import Instance, Request
from instances.ladder import read_ladder
from kvopt.best_known.library_and_ladder import LibraryWithLadder
from kvopt.best_known.submitted_schedules import judge_files
from kvopt.commands import submit
from kvopt.registry_lookup import RegisteredValues
from kvopt.solution_file import name_of_model
from schedules import Schedule, make_schedule, write_schedule
from tests.commands import run_command
from tests.kvopt.best_known.registry import FOUR, OPTIMAL, WORSE, have_library
from tests.kvopt.sweep_tools import Patch

#: Two that never fit together: 1 + 2 rounds.
PAIR = Instance("pair", 3, (Request(0, 0, 2, 1), Request(1, 0, 2, 1)))
WORST = [0, 1, 2, 5]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: Patch) -> None:
    """Have a small library, and an empty folder for its registry below the current one."""
    have_library(monkeypatch, FOUR, PAIR)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "registry").mkdir()


def _write(name: str, starts: list[int], instance: Instance = FOUR, **more: Any) -> Schedule:
    schedule = replace(make_schedule(instance, starts, "a solver"), **more)
    write_schedule(schedule, name)
    return schedule


def _submit(*given: str, code: int = 0) -> tuple[str, str]:
    """Return what the command prints, on standard output and error; it must end with a code."""
    run = run_command(submit.main, *given, "--folder", "registry", program="kvopt submit")
    assert run.returncode == code, run.stderr
    return run.stdout, run.stderr


def _entry(name: str = "four") -> dict[str, Any]:
    entries = json.loads(Path("registry/best_known.json").read_text())["instances"]
    return next(each for each in entries if each["instance"] == name)


def _check() -> int:
    return kvopt.best_known.__main__.main(["--check", "--folder", "registry"], "check")


def _held() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path("registry").rglob("*") if path.is_file()}


def test_a_schedule_of_the_ladder_enters_the_registry() -> None:
    """Its instance is drawn; the registry has none in seconds."""
    drawn = read_ladder()["am2_n5_seed0"].draw()
    _write("drawn.json", list(range(100, 600, 100)), drawn)
    assert "taken: am2_n5_seed0: open" in _submit("drawn.json")[0]
    assert _entry("am2_n5_seed0")["file"] == "ladder.csv"
    in_rounds = {rung.sha256 for rung in read_ladder().values() if not rung.in_seconds}
    assert set(LibraryWithLadder({})) == in_rounds


def test_a_better_schedule_enters_the_registry() -> None:
    """First TEL 16, then 12: the history has both, and the registry verifies from its files."""
    _write("worse.json", WORST)
    _write("best.json", OPTIMAL)
    _write("pair.json", [0, 1], PAIR)
    assert _submit("worse.json", "pair.json")[0].splitlines() == [
        "worse.json: four: TEL 16, not run yet: the first value",
        "pair.json: pair: TEL 3, not run yet: the first value",
        "taken: four: open",
        "taken: pair: one proof only: certificate: volumes",
        "wrote registry/best_known.json and the schedules and certificates of 2 instances below "
        "registry/best_known: a pull request, after python -m reports.library",
    ]
    # (12 - 16) / 12, (12 - 10) / 12: the bound by volumes is 10.
    assert _submit("best.json")[0].splitlines()[0] == (
        "best.json: four: TEL 12, best known TEL 16, bound 10: gap -33.333 % to the TEL, "
        "16.667 % to the bound, a better schedule"
    )
    upper, history = _entry()["upper"], _entry()["history"]["upper"]
    assert (upper["value"], upper["method"], upper["found_by"]) == (12, "submitted", "a solver")
    assert [step["value"] for step in history] in ([16, 12], [12])
    stored = json.loads(Path("registry/best_known/schedules/four.json").read_text())
    assert stored["starts"] == OPTIMAL
    assert (_entry("pair")["upper"]["value"], _check()) == (3, 0)


def test_what_is_not_better_is_one_line_each() -> None:
    """Equal, worse, twice the same: exit 1, and the registry stays to the byte."""
    _write("best.json", OPTIMAL)
    _submit("best.json")
    before = _held()
    _write("worse.json", WORST)
    assert _submit("worse.json", "best.json", code=1)[0].splitlines() == [
        "worse.json: four: TEL 16, best known TEL 12, bound 10: "
        "gap 25.000 % to the TEL, 37.500 % to the bound",
        "best.json: four: TEL 12, best known TEL 12, bound 10: "
        "gap 0.000 % to the TEL, 16.667 % to the bound",
    ]
    assert _held() == before


def test_a_folder_with_all_kinds() -> None:
    """The best one is taken, all others are told of; the exit code is that of the worst kind."""
    Path("found").mkdir()
    _write("found/a.json", WORSE)
    _write("found/b.json", WORSE)
    _write("found/c.json", OPTIMAL)
    _write("found/d.json", OPTIMAL, tel=11)
    _write("found/e.json", OPTIMAL, instance_sha256="0" * 64)
    Path("found/f.json").write_text('{"schema": "kvopt.schedule/1", "sta')
    Path("found/g.sol").write_text("x(0_0) 1\n")
    Path("found/h.txt").write_text("x(0_0) 1\nx(1_0) 1\nx(2_1) 1\nx(3_4) 1\n")
    Path("found/h.lp").write_text(f"\\* Source model name={name_of_model('ilp', FOUR)} *\\\n")
    short = replace(make_schedule(FOUR, OPTIMAL, "a solver"), starts=tuple(OPTIMAL[:3]))
    write_schedule(short, "found/i.json")
    lines = _submit("found", code=10)[0].splitlines()
    expected = [
        "found/a.json: four: TEL 13, not run yet: the first value",
        "found/b.json: four: TEL 13, no better than found/a.json",
        "found/c.json: four: TEL 12, not run yet: the first value",
        "found/d.json: four: malformed: TEL is 12, the schedule claims 11",
        "found/e.json: 'four': the library has no instance of its hash",
        "found/f.json: no valid JSON at ",
        "found/g.sol: expected its model in the same folder, found no g.mps",
        "found/h.txt: four: TEL 13, no better than found/c.json",
        "found/i.json: four: malformed: expected 4 starts, one per request, found 3",
        "taken: four: open",
    ]
    assert [line[: len(told)] for line, told in zip(lines, expected, strict=False)] == expected
    assert len(lines) == len(expected) + 1
    assert _entry()["upper"]["value"] == 12


def test_an_infeasible_one_is_worse_than_a_damaged_one() -> None:
    """21 before 10; a policy's schedule that keeps tokens counts by its starts alone."""
    # At time 2 the requests of 3 tokens hold 3 each, M = 5.
    _write("x.json", [0, 0, 0, 0])
    Path("y.json").write_text("{}")
    _submit("y.json", "x.json", code=21)
    assert not Path("registry/best_known.json").exists()


def test_a_schedule_that_keeps_tokens_is_outside(monkeypatch: Patch) -> None:
    """Request 0 makes a token, keeps it, and would hold 1 at time 3 beside 4 of request 1."""
    two = Instance("two", 4, (Request(0, 0, 0, 4), Request(1, 0, 1, 3)))
    have_library(monkeypatch, two)
    parts: dict[str, Any] = {"attempts": [[(0, 1)], []], "kept": [[0, 1], [0]]}
    write_schedule(make_schedule(two, [2, 0], "vllm", **parts), "kept.json")
    told = _submit("kept.json", code=21)[0]
    assert "keeps tokens over evictions: outside the problem" in told
    assert "without that infeasible: at time 3" in told


def test_a_contradiction_is_not_taken(monkeypatch: Patch) -> None:
    """A schedule below an optimum by construction, which is wrong then: exit 5, nothing written."""
    wrong: dict[str, Any] = {"known_optimum": 13, "known_optimum_reason": "a wrong one"}
    have_library(monkeypatch, replace(FOUR, **wrong), PAIR)
    _write("best.json", OPTIMAL)
    _write("pair.json", [0, 1], PAIR)
    told = "not taken: four: the optimum by construction, 13 exceeds the checked TEL 12"
    assert told in _submit("best.json", "pair.json", code=5)[1]
    # What else is better is taken.
    assert _entry("pair")["upper"]["value"] == 3


def test_a_schedule_below_the_bound_is_not_taken(monkeypatch: Patch) -> None:
    """Also with ``--check``, which merges nothing."""
    known = RegisteredValues(20, 13, "open")
    monkeypatch.setattr(f"{judge_files.__module__}.find_registered", lambda *_: known)
    _write("best.json", OPTIMAL)
    assert "a better schedule; below the registry's bound" in _submit("best.json", code=5)[0]


def test_a_damaged_proof_takes_nothing() -> None:
    """A registry whose files do not prove it takes nothing of that instance, with exit 5."""
    _write("worse.json", WORST)
    _submit("worse.json")
    Path("registry/best_known/bounds/four.json").write_text("{}")
    before = _held()
    _write("best.json", OPTIMAL)
    assert "taken" not in _submit("best.json", "--check")[0]
    assert "not taken: four: " in _submit("best.json", code=5)[1]
    assert _held() == before


@pytest.mark.parametrize("ending", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_full_disk_or_ctrl_c_loses_nothing(ending: BaseException, monkeypatch: Patch) -> None:
    """At the second of three files: all are as before, nothing else is left, and it goes on."""
    _write("worse.json", WORST)
    _write("pair.json", [0, 1], PAIR)
    _submit("worse.json", "pair.json")
    before = _held()
    _write("best.json", OPTIMAL)
    calls = []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise ending

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        _submit("best.json", code=2 if isinstance(ending, OSError) else 130)
    assert (len(calls), _held()) == (2, before)
    _submit("best.json")
    assert (_entry()["upper"]["value"], _check()) == (12, 0)


def test_an_empty_folder_is_bad_usage() -> None:
    """A folder without a schedule is most likely the wrong one."""
    assert "expected schedules in the folder, found none" in _submit("registry", code=2)[1]
    assert support.json_files.TEMPORARY not in "".join(os.listdir("registry"))


def test_a_damaged_registry_is_one_line() -> None:
    """Also with --check, before anything is compared."""
    _write("best.json", OPTIMAL)
    Path("registry/best_known.json").write_text("{}")
    for more in ((), ("--check",)):
        out, err = _submit("best.json", *more, code=2)
        assert (out, err.count("\n")) == ("", 1)
