"""The same text of a method gives the same run, wherever it is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import kvopt
from instances import Instance, Request, write_instance
from kvopt.store import Store
from schedules import read_schedule
from tests.kvopt.conftest import ROOT, Command
from tests.kvopt.sweep_tools import Evaluate

#: M = 5, s = 1, o = (1, 1, 3, 3): OPT 12 (PAPERS section E), by three schedules at least, so the
#: engine gets a seed and one thread.
FOUR = Instance("four", 5, tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3))))
OWN = """\
def solve(instance, report):
    report("bound", value=11)
    return [0, 1, 0, 3]
"""
#: Written as a user may, and as rows and files call it.
METHODS = {
    "alpha-beta( beta=0.1,alpha=0.25 ) with noise(sigma=0.5)": None,
    "a-min with interval(1,1000)": None,
    "highs:ilp-strong(fixing=yes)": None,
    "cpsat:cpsat-strong(equal=no,groups=no)": None,
    "highs": "highs",
    "file": None,
}
SEED = 0


def of_solve(method: str, path: Path, out: Path, solve: Command) -> dict[str, Any]:
    """Return what ``solve.py`` writes, and the summary that it prints."""
    kind = ["--method", method]
    run = solve(path, *kind, "--out", out, "--threads", 1, "--seed", SEED, "--time-limit", 30)
    assert run.returncode == 0, run.stderr
    schedule = read_schedule(out)
    printed = dict(line.split("  ", 1) for line in run.stdout.splitlines() if "  " in line)
    assert printed["status"].strip() == schedule.status
    return told(schedule.method, schedule)


def of_evaluate(arguments: list[object], store: Path) -> dict[str, Any]:
    """Return what ``evaluate.py`` stores."""
    run = Evaluate([*arguments, "--store", store, "--quiet"]).run()
    assert run.returncode == 0, run.stderr
    runs = Store(store, readonly=True)
    try:
        ((key, method, status, tel),) = runs.select("key", "method", "status", "tel")
        document = runs.schedule(key)
    finally:
        runs.close()
    assert document is not None
    assert (document["method"], document["status"]) == (method, status)
    found = (document["tel"], tuple(document["starts"]), document["lower_bound"])
    assert found[0] == tel
    return dict(zip(("tel", "starts", "bound"), found, strict=True), method=method, status=status)


def told(method: str, schedule: kvopt.Schedule) -> dict[str, Any]:
    """Return what must agree of a schedule."""
    return {
        "method": method,
        "status": schedule.status,
        "tel": schedule.tel,
        "starts": schedule.starts,
        "bound": schedule.lower_bound,
    }


@pytest.mark.parametrize("text", METHODS)
def test_script_command_suite_and_library_agree(text: str, solve: Command, tmp_path: Path) -> None:
    """Method, status, TEL, starts and bound of solve.py, evaluate.py, a suite, and kvopt.solve."""
    path = tmp_path / "four.json"
    write_instance(FOUR, path)
    if text == "file":
        (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
        text = f"file:{tmp_path / 'own.py'}"
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'summary = "one run"\n[[section]]\nname = "only"\nrole = "policies"\n'
        f"methods = [{json.dumps(text)}]\ntime_limit = 30\n"
        f"[[section.instances]]\nfiles = {json.dumps([str(path)])}\n",
        encoding="utf-8",
    )
    result = kvopt.solve(FOUR, text, time_limit=30, threads=1, seed=SEED)
    assert result.schedule is not None
    expected = told(result.method, result.schedule)
    assert result.status == expected["status"]
    assert of_solve(text, path, tmp_path / "out.json", solve) == expected
    command = [path, "--methods", text, "--time-limit", 30]
    assert of_evaluate(command, tmp_path / "command.sqlite") == expected
    assert of_evaluate([suite], tmp_path / "suite.sqlite") == expected
    table = kvopt.compare(FOUR, text, time_limit=30)
    assert table.loc[0, "method"] == expected["method"]
    assert (table.loc[0, "tel"], table.loc[0, "status"]) == (expected["tel"], expected["status"])
