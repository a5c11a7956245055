"""The table of engines is read from their files, and everything that names engines from it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from formulations.registry import formulations
from heuristics.registry import policies
from kvopt.commands import evaluate, solve
from kvopt.commands.listing import listing
from kvopt.methods.engines import default_engine, engine_of, engines, named_engines, proofs
from kvopt.methods.grammar import read_method
from kvopt.methods.knowledge import knowledge_words
from kvopt.places import PACKAGES
from tests.commands import run_command
from tests.kvopt.sweep_tools import ROOT

#: An engine as short as one can be: it sends what it was given, and a note.
NEW = '''\
"""Sends back the warm start, one more time."""

from kvopt.engines.job import Job
from kvopt.runs.events import Report

ENGINE = {declared}


def solve(job: Job, report: Report) -> None:
    """Send the warm start."""
    report.note(f"echo of {{job.formulation.name}}")
    report.schedule(job.warm_start)
    report.done(solver="echo 1")
'''


def test_the_table() -> None:
    """Every kind of formulation has one engine by default; the names are those of users."""
    for formulation in formulations().values():
        engine = default_engine(formulation.kind)
        assert read_method(f"{engine.name}:{formulation.name}").solver == engine.name
    assert set(named_engines()) == {*("auto", "bound", "cpsat", "highs", "improve", "search")}
    assert {name for name in engines() if name not in named_engines()} == {"export", "pyomo-solver"}
    assert proofs() == {"cpsat": "CP-SAT", "highs": "HiGHS", "search": "search"}
    assert engine_of("gurobi").module == "kvopt.engines.pyomo_solver"
    # One name, one method.
    assert not set(engines()) & (set(policies()) | set(formulations()) - {"cpsat"})


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more file: an engine."""
    folder = tmp_path_factory.mktemp("house")
    no = shutil.ignore_patterns("__pycache__", "nightly", "*.png", ".git", "best_known")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=no)
    for name in ("solve.py", "evaluate.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    declared = '{"solves": "mip", "named": True, "proof": "echo"}'
    (folder / "kvopt" / "engines" / "new_echo.py").write_text(NEW.format(declared=declared))
    return folder


def _run(house: Path, script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(house / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=house,
        env={"PYTHONPATH": str(house), "PATH": "/usr/bin:/bin", "HOME": str(house)},
    )


@pytest.mark.slow("walks")
def test_adding_a_solver_is_adding_a_file(house: Path, small: Path) -> None:
    """It is listed, named, near to a typo, and runs with every formulation of its kind."""
    for script in ("solve.py", "evaluate.py"):
        listed = _run(house, script, "--list")
        assert re.search(r"\n  new-echo +\[mip\] +Sends back the warm start", listed.stdout)
    assert "new-echo" in _run(house, "solve.py", "--help").stdout
    for arguments in (
        ("--method", "new-echo:ilp"),
        ("--solver", "New_Echo", "--formulation", "ilp"),
    ):
        result = _run(house, "solve.py", small, *arguments, "--time-limit", 20)
        assert result.returncode == 0, result.stderr
        assert re.search(r"method +new-echo:ilp\n", result.stdout)
        assert "echo of ilp\n" in result.stdout
    wrong = _run(house, "solve.py", small, "--method", "new-ehco")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "did you mean new-echo" in wrong.stderr
    wrong = _run(house, "solve.py", small, "--method", "new-echo:cpsat")
    assert "new-echo cannot solve 'cpsat', it takes ilp" in wrong.stderr


def test_the_listing_says_what_a_policy_may_know() -> None:
    """Online or offline, clairvoyant or not, by draws or not, and what it guarantees."""
    lines = listing().splitlines()
    for policy in policies().values():
        (at,) = (i for i, line in enumerate(lines) if line.startswith(f"  {policy.name} "))
        assert lines[at].endswith(policy.summary)
        assert lines[at + 1].strip() == f"class: {knowledge_words(policy)}"
        assert lines[at + 2].strip() == f"guarantee: {policy.guarantee or 'none'}"
    assert knowledge_words(policies()["a-min"]) == "online, with predictions, randomised"
    assert knowledge_words(policies()["sorted-lp"]) == (
        "offline, clairvoyant, a solved LP relaxation"
    )
    for engine in named_engines().values():
        assert any(engine.name in line and engine.summary in line for line in lines)


def test_both_commands_list_the_same() -> None:
    """A name that one of them takes, the other takes too."""
    shown = [run_command(each.main, "--list").stdout for each in (solve, evaluate)]
    assert shown[0] == shown[1] == listing() + "\n"


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_docs_name_every_engine_with_its_summary() -> None:
    """The table of solvers is that of the files."""
    page = _page("solving.md")
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z-]+|–) \| (.*) \|$", page, re.MULTILINE)
    expected = [(each.name, each.solves or "–", each.summary) for each in named_engines().values()]
    assert rows == expected


def _names_in_table(page: str, heading: str) -> list[str]:
    """The names that the table under this heading row puts in backquotes."""
    table = page.split(f"| {heading} |\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"`([^`]+)`", table)


def test_docs_name_every_policy_and_no_other() -> None:
    """So does the table of policies."""
    named = _names_in_table(_page("policies.md"), "kind | policies")
    assert sorted(named) == sorted(policies())
