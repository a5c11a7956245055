"""A method in a file is that file, also where the current folder has one of the same name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kvopt
from instances import Instance, Request, write_instance
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from kvopt.store import Store
from schedules import read_schedule

#: Requests of 2 and 3 rounds in M = 4 that do not fit together.
TWO = Instance("two", 4, (Request(0, 0, 1, 2), Request(1, 0, 1, 3)))
#: The shorter first: 2 + 5.  The longer first: 3 + 5.
MEANT, NAMESAKE = 7, 8
_OWN = """\
from heuristics.policy import ListPolicy
POLICY = ListPolicy("mine", rank=lambda known: ({sign}known.outputs,))
"""


@pytest.fixture
def meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The method that is meant, in a folder other than the current one, which has a namesake."""
    write_instance(TWO, tmp_path / "two.json")
    for folder, sign in (("meant", ""), ("here", "-")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text(_OWN.format(sign=sign), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    return f"file:{tmp_path / 'meant' / 'x.py'}"


def _by_solve(meant: str) -> list[int]:
    assert solve(["../two.json", "--method", meant, "--out", "out.json", "--quiet"]) == 0
    return [read_schedule("out.json").tel]


def _by_evaluate(meant: str) -> list[int]:
    assert evaluate(["../two.json", "--methods", f"{meant},svf", "--quiet"]) == 0
    return _stored(Path("results/runs.sqlite"))


def _by_the_library(meant: str) -> list[int]:
    return [each.tel or 0 for each in (kvopt.solve(TWO, meant), kvopt.run(TWO, meant))]


def _stored(location: Path) -> list[int]:
    store = Store(location, readonly=True)
    try:
        return [tel for method, tel in store.select("method", "tel") if method == "file:x.py"]
    finally:
        store.close()


@pytest.mark.parametrize(
    "command",
    [_by_solve, _by_evaluate, _by_the_library],
    ids=["solve", "evaluate", "library"],
)
def test_the_file_that_is_named_is_run(meant: str, command: Callable[[str], list[int]]) -> None:
    """The shorter first, 7, not the namesake's longer first, 8."""
    found = command(meant)
    assert found
    assert set(found) == {MEANT}
