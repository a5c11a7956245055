"""Methods of one's own as a user writes them: what is accepted, and what is told of a mistake."""

from pathlib import Path

import pandas as pd
import pytest

import kvopt
from instances import Instance, Request, write_instance
from kvopt.store.row_files import read_rows
from schedules import read_schedule
from tests.kvopt.conftest import Command
from tests.kvopt.sweep_tools import Evaluate, Patch, write_small

POLICY = '''\
"""Longest output first, which nobody wants."""
from heuristics.policy import ListPolicy

def rank(known):
    return (-known.outputs,)

POLICY = ListPolicy("longest", rank=rank)
'''
SCHEDULE = """\
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy

def solve(instance):
    return run_policy(policies()["{policy}"], instance)
"""
#: What is in the file, and what its row tells: the user's file and line, and what was expected.
WRONG = {
    "returns_text": (
        "x = 1\ndef solve(instance):\n    return 'abc'",
        "returns_text.py:2: solve: "
        "expected a list with one start round a request, a Schedule, or None, found 'abc'",
    ),
    "fails_below": (
        "from below import stop\n\ndef solve(instance):\n    stop()",
        "fails_below.py:4: KeyError: 'lost'",
    ),
    "bounds": (
        "def solve(instance, report):\n    report('bound', value=1.5)",
        "bounds.py:2: TypeError: 'float' object cannot be interpreted as an integer",
    ),
    "comma": (
        POLICY.replace("(-known.outputs,)", "(known.outputs)"),
        "comma.py: rank: expected a tuple of arrays, as (known.outputs,), found one array; is a "
        "comma missing?",
    ),
    "nan": (
        POLICY.replace("(-known.outputs,)", "([1.0, 2.0, float('nan'), 3.0],)"),
        "nan.py: rank: expected numbers, found NaN for the request at position 2",
    ),
    "attribute": (
        POLICY.replace("known.outputs,", "known.output,"),
        "attribute.py:5: AttributeError: 'Known' object has no attribute 'output'",
    ),
}
RIGHT = {
    "policy": POLICY,
    "schedule": SCHEDULE.format(policy="svf"),
    "evicting": SCHEDULE.format(policy="a-min"),
    "reported": "def solve(instance, report):\n"
    "    outputs = [request.output for request in instance.requests]\n"
    "    report('schedule', starts=[sum(outputs[:i]) for i in range(4)])",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of one sweep over all of them, by file name."""
    folder = tmp_path_factory.mktemp("own")
    (instance,) = write_small(folder, 1)
    (folder / "below.py").write_text("def stop():\n    raise KeyError('lost')\n")
    sources = {name: source for name, (source, _) in WRONG.items()} | RIGHT
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source + "\n")
    methods = ",".join(f"file:{folder / name}.py" for name in sources)
    arguments = [instance, "--methods", methods, "--time-limit", 20, "--jobs", 2]
    store = folder / "runs.sqlite"
    command = Evaluate([*arguments, "--store", store])
    first = command.call()
    assert f"{len(sources)} runs, 0 of them stored already" in first.stdout, first.stderr
    # The same command finds every run again, those with errors too.
    again = Evaluate([*arguments, "--store", store]).call()
    assert f"{len(sources)} runs, {len(sources)} of them stored already" in again.stdout
    return read_rows(store).set_index("method")


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told_by_the_users_line(rows: pd.DataFrame, name: str) -> None:
    """Never by a line of kvopt's, which the user has not written."""
    row = rows.loc[f"file:{name}.py"]
    assert row["status"] in ("error", "no_solution"), row["detail"]
    assert WRONG[name][1] in row["detail"]
    assert "own.py" not in row["detail"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_accepted(rows: pd.DataFrame, name: str) -> None:
    """A policy, a Schedule, one with cancelled attempts, and one that was only reported."""
    row = rows.loc[f"file:{name}.py"]
    assert row["status"] == "feasible", row["detail"]
    # M = 5, s = 1, o = 1, 1, 3, 3: OPT is 12 and one after the other, the longest first, take
    # 3 + 6 + 7 + 8 = 24.
    assert 12 <= row["tel"] <= 24
    # The volumes bound it as they do a policy: their bound here is 10.
    assert (row["lower_bound"], row["bound_source"]) == (10, "volumes")


def test_a_file_that_is_no_python(small: Path, tmp_path: Path, solve: Command) -> None:
    """Both commands refuse it before anything starts, and name the line."""
    path = tmp_path / "syntax.py"
    path.write_text("def solve(instance):\n    return [\n")
    swept = Evaluate([small, "--methods", f"file:{path}", "--store", tmp_path / "s.sqlite"]).call()
    assert (swept.returncode, swept.stdout) == (2, "")
    assert swept.stderr == "evaluate.py: file:syntax.py: '[' was never closed (syntax.py, line 2)\n"
    solved = solve(small, "--method", f"file:{path}")
    assert (solved.returncode, solved.stdout) == (2, "")
    assert solved.stderr == swept.stderr.replace("evaluate", "solve")


def test_no_row_holds_a_path(rows: pd.DataFrame) -> None:
    """Neither the method's name nor that of who found it shows where the file lies."""
    assert set(rows.index) == {f"file:{name}.py" for name in (*WRONG, *RIGHT)}
    for column in ("detail", "found_by", "solver"):
        assert not rows[column].str.contains("/").any()


@pytest.mark.parametrize(
    "text", ["import nothing_of_that_name", POLICY.replace("(-known.outputs,)", "(1 / 0,)")]
)
def test_a_file_that_fails_is_bad_input(
    text: str, small: Path, tmp_path: Path, solve: Command
) -> None:
    """One code and one line, whether it fails while it is imported, called or read."""
    path = tmp_path / "mine.py"
    path.write_text(text)
    result = solve(small, "--method", f"file:{path}", "--quiet")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("solve.py: the method failed: mine.py")


def test_a_namesake_in_the_current_folder_is_not_run(
    tmp_path: Path, solve: Command, monkeypatch: Patch
) -> None:
    """Requests of 2 and 3 rounds one after the other: the shorter first 2 + 5, else 3 + 5."""
    two = Instance("two", 4, (Request(0, 0, 1, 2), Request(1, 0, 1, 3)))
    write_instance(two, tmp_path / "two.json")
    for folder, rank in (("meant", "(known.outputs,)"), ("here", "(-known.outputs,)")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text(POLICY.replace("(-known.outputs,)", rank))
    monkeypatch.chdir(tmp_path / "here")
    meant = f"file:{tmp_path / 'meant' / 'x.py'}"
    assert solve("../two.json", "--method", meant, "--out", "out.json").returncode == 0
    assert read_schedule("out.json").tel == 7
    Evaluate(["../two.json", "--methods", f"{meant},svf", "--store", "s.sqlite"]).call()
    assert read_rows("s.sqlite").set_index("method").loc["file:x.py", "tel"] == 7
    assert (kvopt.solve(two, meant).tel, kvopt.run(two, meant).tel) == (7, 7)
