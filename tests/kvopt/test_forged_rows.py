"""Forgers of rows: what a row claims counts as far as it follows from what its store carries."""

import contextlib
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import grimp
import pandas as pd
import pytest

from formulations.valid.volume_bounds import volume_bound
from instances import Instance, Request, write_instance
from instances.batch_time import parse_batch_time
from kvopt.best_known import __main__ as best_known
from kvopt.best_known.registry_files import REGISTRY_FILE
from kvopt.commands.evaluate import main as evaluate
from kvopt.methods.witness import trusts_solver
from kvopt.runs.row_columns import PROVED
from kvopt.runs.run_evidence import evaluate_document
from kvopt.runs.task import FinishedRun
from kvopt.store import Store, proved_bounds
from kvopt.store.proved_bounds import VERIFIERS, believed_rows
from kvopt.store.row_files import export_rows, read_rows
from kvopt.sweeps.contradictions import RunSummary, alarms, run_summaries
from reports.best_references import collect_statements, find_references
from reports.build import main as build
from reports.prepared_rows import prepare_rows
from reports.stored_results import Results
from schedules import make_schedule
from schedules.schedule import KEEPS_TOKENS_COVERED, KEEPS_TOKENS_NOTE, STATUSES
from schedules.schedule_files import parse_schedule
from serving.bounds import seconds_certificate as timed
from serving.bounds.loads import work_bound
from support.project_root import ROOT
from tests.kvopt.best_known.registry import FOUR, OPTIMAL, PAIR, PRICES, SWEEP, have_library
from tests.kvopt.sweep_tools import Capture, Patch, store_runs
from tests.kvopt.test_store import SCHEDULE
from tests.reports.synthetic import record
from tests.tiers import a_few

TIMED = Instance("timed", 5, (Request(0, 0.5, 1, 2), Request(1, 0, 1, 1)), time_unit="second")
TAU = parse_batch_time("affine(base=1,token=0)").name
WORK = work_bound(TIMED, parse_batch_time(TAU))
OWN = "file:mine.py"


class Forger:
    """A store that anyone may write into."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.sqlite"

    def put(
        self,
        instance: Instance = FOUR,
        certificate: dict[str, Any] | None = None,
        starts: list[int] | None = None,
        stored: Instance | None = None,
        **fields: Any,
    ) -> str:
        """Store a row of ``FOUR`` as it is told, and return its key."""
        fields = {"method": OWN, "lower_bound": 12, "bound_source": ""} | fields
        row = record(instance=instance.name, instance_sha256=instance.sha256, **fields)
        schedule = None if starts is None else make_schedule(instance, starts, row.method)
        store_runs(self.path, FinishedRun(row, schedule, certificate, stored or instance))
        return row.key

    def set(self, **columns: object) -> None:
        """Write into every row what no run ever wrote."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            for name, value in columns.items():
                connection.execute(f"UPDATE runs SET {name} = ?", (value,))
            connection.commit()

    @property
    def believed(self) -> list[bool]:
        """Whether the bound of each row counts, for a comparison and for a report alike."""
        rows = read_rows(self.path)
        found = list(believed_rows(rows))
        assert list(prepare_rows(rows)["believed"]) == found
        return found


@pytest.fixture
def forger(tmp_path: Path, monkeypatch: Patch) -> Forger:
    """An empty store, beside a library of two."""
    have_library(monkeypatch, FOUR, PAIR)
    return Forger(tmp_path)


@pytest.mark.parametrize(
    "method", a_few((OWN, "svf", "auto", "highs:ilp", "foo", "FILE:mine.py"), 1)
)
@pytest.mark.parametrize(
    ("source", "certificate", "bound", "expected"),
    [
        ("certificate: sweep", None, 12, False),
        ("certificate: sweep", SWEEP, 12, True),
        ("certificate: prices", PRICES, 11, True),
        ("certificate: prices", PRICES, 12, False),
        ("certificate: prices", PRICES | {"memory": [0] * 5}, 11, False),
        ("certificate: ", {}, 12, False),
        ("volumes", None, volume_bound(FOUR), True),
        ("volumes", None, volume_bound(FOUR) + 1, False),
        ("volumes", SWEEP, 12, False),
        ("work", {"kind": "work", "value": 12, "batch_time": TAU}, 12, False),
    ],
)
def test_a_proof_that_is_named_is_evaluated(
    forger: Forger, method: str, source: str, certificate: Any, bound: int, expected: bool
) -> None:
    """Without its certificate a source is a text, whoever names it."""
    forger.put(method=method, certificate=certificate, lower_bound=bound, bound_source=source)
    assert forger.believed == [expected]


def test_evaluations_are_remembered(forger: Forger, monkeypatch: Patch, tmp_path: Path) -> None:
    """Until anything that it depends on is another: the certificate, or what evaluates it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    evaluations: list[object] = []

    def counting(*told: Any) -> int:
        evaluations.append(told)
        return evaluate_document(*told)

    monkeypatch.setattr(proved_bounds, "evaluate_document", counting)
    source = "certificate: sweep"
    forger.put(certificate=SWEEP, bound_source=source)
    assert [forger.believed, forger.believed, len(evaluations)] == [[True], [True], 1]
    forger.put(certificate=SWEEP | {"value": 13}, seed=1, bound_source=source)
    assert sorted(forger.believed) == [False, True]
    assert len(evaluations) == 2
    monkeypatch.setattr(proved_bounds, "_verifier", lambda: "another")
    assert sorted(forger.believed) == [False, True]
    assert len(evaluations) == 4


def test_the_digest_covers_every_source_that_evaluates() -> None:
    """All that the evaluation imports in the project, also where a function imports it."""
    packages = ("kvopt", "serving", "formulations", "schedules", "instances", "support")
    imported = grimp.build_graph(*packages).find_upstream_modules("kvopt.runs.run_evidence")
    digested = {path for pattern in VERIFIERS for path in ROOT.glob(pattern)}
    files = {ROOT / f"{name.replace('.', '/')}.py" for name in imported}
    assert len(files) > 50
    assert {file for file in files if file.is_file()} <= digested


@pytest.mark.parametrize(
    ("source", "bound", "expected"),
    [
        ("work", WORK, True),
        ("work", WORK + 1, False),
        ("certificate: work", WORK, False),
        ("volumes", 1, False),
    ],
)
def test_bounds_in_seconds_count(forger: Forger, source: str, bound: int, expected: bool) -> None:
    """In nanoseconds, under the batch time of the row."""
    forger.put(TIMED, method="svf", lower_bound=bound, bound_source=source, batch_time=TAU)
    assert forger.believed == [expected]


def test_a_bound_of_few_at_a_time_is_none_of_others(forger: Forger) -> None:
    """One at a time nearly the whole base is charged for each token: 2 ms and 1 of work."""
    few = {"kind": "work", "value": 0, "batch_time": TAU, "running": 1, "seat": 10**6}
    value = timed.evaluate_seconds_certificate(TIMED, timed.read_seconds_certificate(few))
    assert 2_999_900 < value <= 3_000_000
    assert value > WORK
    forger.put(TIMED, few, lower_bound=value, bound_source="work", batch_time=TAU)
    assert forger.believed == [False]


def _merged(forger: Forger) -> str:
    """Merge the store into a new registry; return its text."""
    folder = forger.path.parent / "registry"
    assert best_known.main(["--store", str(forger.path), "--folder", str(folder)]) == 0
    return (folder / REGISTRY_FILE).read_text()


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        *((method, True) for method in ("auto", "highs:ilp", "HIGHS:ILP", "gurobi:ilp")),
        *((method, False) for method in ("foo", "foo:ilp", "ipopt:ilp", "svf", "highs:nothing")),
        *((method, False) for method in (OWN, "FILE:mine.py", "")),
    ],
)
def test_whose_word_counts(forger: Forger, method: str, expected: bool) -> None:
    """That of our solvers, and of Pyomo's whose tolerances are known; merging takes no other."""
    assert trusts_solver(method) == expected
    forger.put(method=method, bound_source="HiGHS", starts=OPTIMAL, tel=12)
    assert forger.believed == [expected]
    assert ('"kind": "solver-reported"' in _merged(forger)) == expected


@pytest.mark.parametrize("method", ["auto", "highs:ilp", OWN])
def test_a_certificate_that_is_not_there_is_not_merged(forger: Forger, method: str) -> None:
    """Not as a solver's report either: no solver says so of its own bound."""
    forger.put(method=method, bound_source="certificate: sweep", starts=OPTIMAL, tel=12)
    text = _merged(forger)
    assert "solver-reported" not in text
    assert f'"value": {volume_bound(FOUR)},\n    "method": "volumes"' in text


@pytest.mark.parametrize(("starts", "expected"), [(None, False), (OPTIMAL, True), ([0] * 4, False)])
def test_a_certificate_needs_its_schedule(
    forger: Forger, starts: list[int] | None, expected: bool
) -> None:
    """A schedule of TEL 12, which the checker accepts; that the row says 12 is not enough."""
    certificate, source = PRICES | {"upper_bound": 12}, "certificate: prices"
    forger.put(FOUR, certificate, starts, lower_bound=11, bound_source=source, tel=12)
    assert forger.believed == [expected]


def test_exported_rows_carry_no_certificate(forger: Forger, tmp_path: Path) -> None:
    """What the store proves is not believed of a text, whatever columns it is given."""
    forger.put(certificate=SWEEP, bound_source="certificate: sweep")
    assert forger.believed == [True]
    path = tmp_path / "rows.csv"
    export_rows(read_rows(forger.path), path)
    pd.read_csv(path).assign(proved=12).to_csv(path, index=False)
    assert list(believed_rows(read_rows(path))) == [False]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+1", "-2+3", "'=1", "-"])
def test_a_name_is_no_formula_of_a_spreadsheet(name: str, forger: Forger, tmp_path: Path) -> None:
    """Its cell begins with a quote, which is taken off when it is read; numbers are as they are."""
    forger.put(Instance(name, FOUR.memory, FOUR.requests), known_optimum=-7)
    rows, path = read_rows(forger.path), tmp_path / "rows.csv"
    export_rows(rows, path)
    cells = pd.read_csv(path, dtype=str).iloc[0]
    assert (cells["instance"], cells["known_optimum"]) == (f"'{name}", "-7")
    pd.testing.assert_frame_equal(read_rows(path), rows.drop(columns=PROVED))


@pytest.mark.parametrize("value", [2**63 - 1, 2**53 + 1, -(2**63) + 1])
def test_no_digit_is_lost(value: int, forger: Forger, tmp_path: Path, capsys: Capture) -> None:
    """A column with gaps is not read by floats, in the leaderboard nor in a report."""
    forger.put()
    forger.put(PAIR, method="fcfs", known_optimum=value, tel=value)
    line = Results(read_rows(forger.path)).reference.set_index("instance").loc[PAIR.name]
    assert line["upper"] == value
    assert evaluate(["--store", str(forger.path)]) == (0 if value > 0 else 5)
    build(["--store", str(forger.path), "--out", str(tmp_path / "report")])
    text = (tmp_path / "report" / "instances" / f"{PAIR.name}.html").read_text()
    assert f"{value:,}" in text
    assert not any(f"{value + each:,}" in text for each in (-1, 1))
    assert "TEL" in capsys.readouterr().out


@pytest.mark.parametrize("bound", [None, 11, 12, 13])
def test_an_optimum_needs_its_bound(forger: Forger, bound: int | None) -> None:
    """It counts where it meets its TEL and none is below; a contradicted row alarms nobody."""
    forger.put(method="highs:ilp", status="optimal", tel=12, lower_bound=bound)
    assert list(prepare_rows(rows := read_rows(forger.path))["solved"]) == [bound == 12]
    known = {FOUR.sha256: {"upper_bound": 11, "upper_by": "", "lower_bound": 1, "lower_by": ""}}
    assert not Results(rows, known).runs[["solved", "believed"]].all(axis=None)
    write_instance(FOUR, file := forger.path.with_name("four.json"))
    code = evaluate([str(file), "--methods", "svf", "--store", str(forger.path)])
    assert code == 5 * (bound == 13)
    told: dict[str, Any] = {"status": "error", "detail": "contradicted: 13 > 12"}
    forger.put(method="highs:ilp", tel=12, lower_bound=bound, **told)
    assert evaluate([str(file), "--methods", "svf", "--store", str(forger.path)]) == 0
    forger.set(method="foo:ilp")
    assert not prepare_rows(read_rows(forger.path))["solved"].any()


@pytest.mark.parametrize("status", ["", "OPTIMAL", "optimal "])
def test_unknown_statuses_end(forger: Forger, status: str, tmp_path: Path, capsys: Capture) -> None:
    """In one line, by all who read rows, from a store and from exported rows."""
    forger.put(starts=OPTIMAL, tel=12)
    export_rows(read_rows(forger.path), tmp_path / "rows.csv")
    flat = pd.read_csv(tmp_path / "rows.csv", dtype=str, keep_default_na=False)
    flat.assign(status=status).to_csv(tmp_path / "rows.csv", index=False)
    forger.set(status=status)
    assert evaluate(["--store", str(forger.path)]) != 0
    for location in (forger.path, tmp_path / "rows.csv"):
        assert build(["--store", str(location), "--out", str(tmp_path / "report")]) == 2
    told = capsys.readouterr().err
    assert told.count("status: expected one of optimal, feasible, ") == told.count("\n") == 3
    assert best_known.main(["--store", str(forger.path), "--folder", str(tmp_path / "r")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow("repeats")
def test_no_row_of_a_forger_raises_a_bound(forger: Forger) -> None:
    """400 rows at random: no bound above the optimum counts but by the word of a known solver."""
    draws = random.Random(26)
    sources = ["volumes", "work", "alone", "certificate: sweep", "certificate: prices", "HiGHS"]
    sources += ["", "certificate: ", "Volumes", "certificate: volumes", "volumes ", "the word"]
    methods = ["svf", "foo", "foo:ilp", OWN, "FILE:x.py", "mc-sf", "svf with noise(1)"]
    methods += ["", "(", ":"]
    certificates = [None, SWEEP, PRICES, {}, {"kind": "volumes", "value": 99}]
    certificates += [PRICES | {"value": 99}, SWEEP | {"value": 99}, PRICES | {"upper_bound": 1}]
    for number in range(400):
        forger.put(
            key=f"{number:064}",
            method=draws.choice([*methods, "auto", "highs:ilp(relaxed=yes)", "cpsat"]),
            bound_source=draws.choice(sources),
            certificate=draws.choice(certificates),
            lower_bound=draws.randint(13, 99),
            tel=draws.choice([None, 1, 12, 99]),
            starts=draws.choice([None, OPTIMAL]),
            status=draws.choice(STATUSES),
            detail=draws.choice(["", "x"]),
        )
    rows = prepare_rows(read_rows(forger.path))
    counted = rows[rows["believed"]]
    assert {*counted["method"]} == {"auto", "highs:ilp(relaxed=yes)", "cpsat"}
    assert not counted["bound_source"].str.startswith(("certificate: ", "volumes\0")).any()
    assert not counted["bound_source"].isin(["volumes", "work", "alone"]).any()
    without = rows[~rows["method"].isin({*counted["method"]})]
    assert find_references(without, collect_statements(without))["lower"].isna().all()


def _summary(method: str, tel: int | None, bound: int | None, **more: Any) -> RunSummary:
    given: dict[str, Any] = {"instance_sha256": "one", "status": "feasible", "detail": ""} | more
    return RunSummary(method, "i", method=method, seed=0, tel=tel, lower_bound=bound, **given)


def test_runs_that_alarm() -> None:
    """Two that exclude each other, both named, and refused or contradicted ones; no other error."""
    (line,) = alarms([_summary("a", 12, 3), _summary("b", 20, 13), _summary("c", None, None)])
    assert line == "b on i, seed 0: lower bound 13 exceeds the TEL 12 of a, seed 0"
    assert alarms([_summary("a", 12, 3), _summary("b", 20, 13, instance_sha256="two")]) == []
    assert alarms([_summary("a", 12, 3), _summary("b", 20, 12)]) == []
    kept: dict[str, Any] = {"keeps_tokens": True, "batch_time": "t"}
    for detail, wrong in ((KEEPS_TOKENS_NOTE, 0), (KEEPS_TOKENS_COVERED, 1)):
        runs = [_summary("a", 12, 3, **kept, detail=detail), _summary("b", 20, 13, batch_time="t")]
        assert len(alarms(runs)) == wrong
    (line,) = alarms([_summary("a", 20, 13, instance_sha256=FOUR.sha256)])
    assert line == "a on i, seed 0: lower bound 13 exceeds the TEL 12 of the registry"
    told = [("refused", "at time 1"), ("error", "contradicted: 3 > 2")]
    told.append(("error", "own.py:3: ZeroDivisionError"))
    runs = [_summary(s[0], None, None, status=s, detail=detail) for s, detail in told]
    assert [line.partition(" ")[0] for line in alarms(runs)] == ["r", "e"]


@pytest.mark.parametrize(
    ("method", "kept", "keeps"),
    [
        ("vllm-v1", [[0, 1], [0]], True),
        ("sglang-ratio(order=random)", None, False),
        ("sglang-ratio(order=random)", [[0, 1], [0]], True),
        ("svf", None, False),
        ("file:own.py", None, False),
        ("file:own.py", [[0, 1], [0]], True),
    ],
)
def test_schedules_that_keep_tokens_may_beat_the_bound(
    tmp_path: Path, method: str, kept: list[list[int]] | None, keeps: bool
) -> None:
    """Their problem is an easier one, so nothing is wrong; other schedules may not."""
    schedule = parse_schedule(SCHEDULE | ({"kept": kept} if kept else {}))
    keeper = record(method=method, tel=12, lower_bound=3, bound_source="")
    other = FinishedRun(record(key="c" * 64, method="cpsat", tel=13, lower_bound=13))
    store_runs(tmp_path / "runs.sqlite", FinishedRun(keeper, schedule=schedule), other)
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        runs = run_summaries(store, None)
    assert [run.keeps_tokens for run in runs] == [keeps, False]
    assert len(alarms(runs)) == (not keeps)
