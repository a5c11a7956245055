"""A ``known_optimum`` is what the instance's file states: it proves and refuses nothing."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kvopt.runs.state
from formulations.valid.volume_bounds import volume_bound
from instances import Instance, write_instance
from kvopt.commands.evaluate import main as evaluate
from kvopt.methods.grammar import read_method
from kvopt.runs.events import BoundProved, ScheduleFound
from kvopt.runs.run_evidence import find_misstatement
from kvopt.runs.state import RunState
from kvopt.runs.task import Task
from kvopt.store import Store
from reports.stored_results import Results
from schedules import check_schedule, read_schedule
from schedules.check import Verdict
from schedules.schedule import KEEPS_TOKENS_NOTE
from tests.kvopt.best_known.registry import FOUR, PRICES
from tests.kvopt.conftest import Command
from tests.kvopt.sweep_tools import Patch, summary_of
from tests.oracles.brute_force import brute_force_optimum

pytestmark = pytest.mark.usefixtures("quick_bounds")


def stating(optimum: int) -> Instance:
    """Return the instance with an optimum that somebody typed."""
    return replace(FOUR, known_optimum=optimum, known_optimum_reason="typed")


def test_the_example_is_what_it_is_said_to_be() -> None:
    """OPT by brute force, and the bound of the volumes."""
    assert (brute_force_optimum(FOUR), volume_bound(FOUR)) == (12, 10)


@pytest.mark.parametrize(
    ("stated", "tel", "bound", "proof", "told"),
    [
        (12, 12, 12, None, ""),
        (11, 13, 11, None, ""),
        (12, None, None, None, ""),
        # A checked schedule below it, whatever the bounds are.
        (13, 12, 12, None, "13, is wrong: a checked schedule has TEL 12"),
        # Volumes of 10, or prices that prove 11, above it.
        (9, 12, 12, None, "9, is wrong: no TEL is below the certified bound 10"),
        (10, 12, 12, PRICES, "10, is wrong: no TEL is below the certified bound 11"),
        # A certificate proves what it evaluates to, not what it says, and only under its premise.
        (11, 12, 12, PRICES | {"value": 99}, ""),
        (10, 12, 12, PRICES | {"upper_bound": 11}, ""),
        (10, None, 12, PRICES | {"upper_bound": 12}, ""),
        (10, 12, 12, PRICES | {"upper_bound": 12}, "the certified bound 11"),
        (10, 12, 12, {"kind": "nonsense"}, ""),
        (11, 12, 12, None, ""),
    ],
)
def test_what_proves_it_wrong(
    stated: int, tel: int | None, bound: int | None, proof: Any, told: str
) -> None:
    """Checked and certified results do; a bound on a method's word does not."""
    found = find_misstatement(stating(stated), tel, bound, proof)
    assert (told in found, bool(found)) == (True, bool(told))
    assert find_misstatement(FOUR, tel, bound, proof) == ""


@pytest.mark.parametrize(
    ("stated", "solver", "status", "bound", "told"),
    [
        (13, "search", "optimal", 12, "13, is wrong: a checked schedule has TEL 12"),
        (9, "search", "optimal", 12, "9, is wrong: no TEL is below the certified bound 1"),
        # It refuses nothing: a bound on a method's word stays, and no line blames anybody.
        (11, "cpsat:cpsat", "optimal", 12, ""),
        (12, "search", "optimal", 12, ""),
    ],
)
def test_solve_reports_and_writes_all_the_same(
    stated: int, solver: str, status: str, bound: int, told: str, solve: Command, tmp_path: Path
) -> None:
    """Exit 2 with one line that names both numbers; the schedule is valid, better and written."""
    path, out = tmp_path / "typed.json", tmp_path / "out.json"
    write_instance(stating(stated), path)
    result = solve(path, "--method", solver, "--out", out)
    assert result.returncode == (2 if told else 0)
    assert len(result.stderr.splitlines()) == bool(told)
    assert told in result.stderr
    assert "bug" not in result.stderr
    rows = summary_of(result.stdout)
    assert (rows["status"], rows["TEL"].split()[0], rows["checker"]) == (status, "12", "valid")
    schedule = read_schedule(out)
    assert (schedule.tel, schedule.lower_bound, schedule.status) == (12, bound, status)
    assert check_schedule(stating(stated), schedule).valid


def _state(stated: int, bound: int) -> RunState:
    state = RunState(stating(stated), "m")
    state.take(ScheduleFound(starts=[0, 1, 0, 3], found_by="m"))
    state.take(BoundProved(value=bound, source="CP-SAT"))
    state.close()
    return state


@pytest.mark.parametrize(("stated", "told"), [(13, "has TEL 12"), (9, "certified bound 1")])
def test_a_sweep_blames_the_file(
    stated: int, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 with one line for the file; all runs count, and none is repeated as failed."""
    path, store = tmp_path / "typed.json", tmp_path / "runs.sqlite"
    write_instance(stating(stated), path)
    asked = [str(path), "--methods", "search,cpsat:cpsat", "--store", str(store), "--quiet"]
    for _ in range(2):
        assert evaluate([*asked, "--rerun-failed"]) == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert told in line
    with closing(Store(store)) as kept:
        found = [*kept.select("status", "tel", "lower_bound", "total_seconds")]
    assert [row[:3] for row in found] == [("optimal", 12, 12)] * 2


@pytest.mark.parametrize("kept", ["", f"{KEEPS_TOKENS_NOTE}; "])
def test_a_report_names_the_wrong_statement(kept: str) -> None:
    """The error is the file's: the bound counts, and nothing contradicts the statement."""
    (line,) = (line for line in _state(9, 12).detail())
    run = {"instance": "four", "instance_sha256": "a" * 64, "method": "cpsat", "status": "error"}
    values = {"tel": 12, "lower_bound": 12, "known_optimum": 9}
    frame = pd.DataFrame([run | values | {"detail": kept + line}])
    assert Results(frame).contradictions == ()
    assert Results(frame).reference.iloc[0]["lower"] == 12
    # Any other error keeps its bound from being believed.
    for wrong in ({"detail": "contradicted: " + line}, {"status": "refused"}):
        assert pd.isna(Results(frame.assign(**wrong)).reference.iloc[0]["lower"])


def test_refused_is_not_written(monkeypatch: Patch, solve: Command, tmp_path: Path) -> None:
    """Exit 5 and no file: nothing that the checker refuses is left behind as a result."""
    why = "for the sake of the test"
    monkeypatch.setattr(kvopt.runs.state, "check_schedule", lambda *_: Verdict("malformed", why))
    path, out = tmp_path / "four.json", tmp_path / "out.json"
    write_instance(FOUR, path)
    result = solve(path, "--policy", "svf", "--out", out)
    assert result.returncode == 5
    assert not out.exists()
    assert why in result.stderr


def test_what_is_stated_is_part_of_the_run() -> None:
    """Files that differ in it alone, or in whether they have it, are two runs."""
    stated = [replace(FOUR, known_optimum=value, known_optimum_reason="x") for value in (11, 12)]
    instances = [FOUR, *stated]
    keys = [Task(each, each.name, read_method("svf"), code="c").key for each in instances]
    assert len({each.sha256 for each in instances}) == 1
    assert len(set(keys)) == 3
