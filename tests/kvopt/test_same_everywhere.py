"""The same text of a method gives the same run, wherever it is named."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kvopt
from instances import Instance, Request, write_instance
from kvopt.methods.method_names import shown_method
from kvopt.store import Store
from schedules import Schedule, read_schedule
from schedules.schedule_files import parse_schedule
from tests.kvopt.conftest import Command
from tests.kvopt.sweep_tools import Evaluate, summary_of
from tests.tiers import a_few

#: M = 6, (a, s, o) = (2, 1, 3), (0, 3, 2), (1, 2, 1), (1, 3, 1): the starts 2, 0, 3, 2 alone have
#: the TEL 3 + 2 + 3 + 2, and no policy finds them; so whoever of several finds OPT finds the same.
LENGTHS = ((2, 1, 3), (0, 3, 2), (1, 2, 1), (1, 3, 1))
FOUR = Instance("four", 6, tuple(Request(i, *each) for i, each in enumerate(LENGTHS)))
#: One after the other in some order, by a number and a word that it takes.
OWN = """\
def solve(instance, report, weight=1, order="up"):
    report("bound", value=9)
    requests = instance.requests
    ranked = sorted(range(4), key=lambda i: requests[i].output + weight * requests[i].prompt)
    starts, free = [0] * 4, 0
    for i in ranked if order == "up" else reversed(ranked):
        starts[i] = max(free, requests[i].arrival)
        free = starts[i] + requests[i].output
    return starts
"""
POLICY = """\
from heuristics.policy import ListPolicy, Parameter
POLICY = ListPolicy(
    "weighted", rank=lambda known: (known.values["weight"] * known.prompts + known.upper,),
    clairvoyant=False, parameters=(Parameter("weight", 1, -9, 9, "of the prompt"),),
)
"""
#: Written as a user may, who need not write them as rows do.  That a method in parts (``--policy``
#: and ``--predict``, say) is the same method, the tests of ``kvopt.methods`` show.
METHODS = (
    "alpha-beta( beta=0.1,alpha=0.25 )",
    "a-min with interval(1,1000)",
    "CPSAT:cpsat-strong(equal=no,groups=no)",
    "file:own.py( order = down, weight=2.0 )",
    "a-max with noise(sigma=0.5)",
    "highs:ilp(groups=yes)",
    "cpsat",
    "highs",
    "file:own.py",
    "file:policy.py",
    "file:policy.py(weight=-2) with Interval(1, 50)",
)
#: Of a row what is the same wherever it is run: no times, and nothing of the machine.
SAME = (
    *("seed", "section", "n", "memory", "status", "ending", "tel", "lower_bound"),
    *("known_optimum", "own_name", "told", "called", "batch_time"),
)
Told = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the instance is, a method of one's own, and a suite."""
    folder = tmp_path_factory.mktemp("same")
    write_instance(FOUR, folder / "four.json")
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    (folder / "policy.py").write_text(POLICY, encoding="utf-8")
    (folder / "mine.toml").write_text(
        'summary = "one of each kind"\n[[section]]\nname = "only"\nrole = "policies"\n'
        f"methods = {json.dumps([_placed(text, folder) for text in METHODS])}\n"
        f"instances = [{json.dumps(str(folder / 'four.json'))}]\ntime_limit = 30\n",
        encoding="utf-8",
    )
    return folder


def _placed(text: str, folder: Path) -> str:
    return text.replace("file:", f"file:{folder}/")


def _evaluated(arguments: Sequence[object], store: Path) -> list[Told]:
    run = Evaluate([*arguments, "--store", store, "--jobs", 2, "--quiet"]).call()
    assert run.returncode == 0, run.stderr
    with closing(Store(store, readonly=True)) as runs:
        found = {}
        rows = runs.rows().set_index("key")
        for key, method, status, tel in runs.select("key", "method", "status", "tel"):
            document = runs.schedule(key)
            assert document is not None
            schedule = parse_schedule(document)
            assert (schedule.method, schedule.status, schedule.tel) == (method, status, tel)
            row = rows.loc[key]
            columns = {name: None if pd.isna(row[name]) else row[name] for name in SAME}
            found[method] = _told(schedule) | {"row": columns | {"section": ""}}
    return sorted(found.values(), key=lambda told: str(told["method"]))


def _told(schedule: Schedule) -> Told:
    """Return what must agree."""
    names = ("method", "status", "tel", "lower_bound", "starts", "attempts")
    return {name: getattr(schedule, name) for name in names}


@pytest.mark.parametrize("text", a_few(METHODS, 4))
def test_script_and_library(text: str, folder: Path, solve: Command, tmp_path: Path) -> None:
    """Method, status, TEL, bound, starts and attempts, of solve.py's file and of kvopt.solve."""
    result = kvopt.solve(FOUR, _placed(text, folder), time_limit=30, threads=1)
    assert result.schedule is not None
    assert (result.method, result.status) == (result.schedule.method, result.schedule.status)
    out = tmp_path / "out.json"
    named = ["--method", _placed(text, folder), "--threads", 1]
    run = solve(folder / "four.json", *named, "--out", out, "--quiet")
    assert run.returncode == 0, run.stderr
    assert _told(read_schedule(out)) == _told(result.schedule)
    printed = summary_of(run.stdout)
    assert printed["status"] == result.status
    # After it, where the size decides, the formulation that it has chosen.
    shown = shown_method(result.method, result.record.own_name)
    assert printed["method"].startswith(shown)


@pytest.mark.slow("walks")
def test_library_and_sweeps(folder: Path) -> None:
    """The rows and schedules of evaluate.py and of a suite, and the table of kvopt.compare."""
    results = [kvopt.solve(FOUR, _placed(text, folder), threads=1) for text in METHODS]
    expected = [
        _told(result.schedule) | {"row": {name: getattr(result.record, name) for name in SAME}}
        for result in results
        if result.schedule is not None
    ]
    assert len({told["method"] for told in expected}) == len(METHODS)
    methods = ",".join(_placed(text, folder) for text in METHODS)
    named = [folder / "four.json", "--methods", methods, "--time-limit", 30]
    for arguments, store in ((named, "command.sqlite"), ([folder / "mine.toml"], "suite.sqlite")):
        stored = _evaluated(arguments, folder / store)
        assert stored == sorted(expected, key=lambda told: str(told["method"]))
    table = kvopt.compare(FOUR, [_placed(text, folder) for text in METHODS], time_limit=30, jobs=2)
    rows = table[["method", "status", "tel", "bound"]].to_numpy().tolist()
    shown = [shown_method(told["method"], told["row"]["own_name"]) for told in expected]
    values = [[told[name] for name in ("status", "tel", "lower_bound")] for told in expected]
    assert rows == [[name, *each] for name, each in zip(shown, values, strict=True)]
