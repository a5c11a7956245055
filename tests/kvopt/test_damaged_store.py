"""A store whose columns or proofs are damaged: one line that names the run, never a traceback."""

import contextlib
import gzip
import io
import json
import random
import re
import sqlite3
from pathlib import Path

import pandas as pd
import psutil
import pytest

import reports.build
from instances import Instance, Request
from kvopt.best_known import __main__ as best_known
from kvopt.commands.evaluate import main as evaluate
from kvopt.runs.task import FinishedRun
from kvopt.store import Store, StoreError
from kvopt.store.row_files import ExportError, export_rows, read_rows
from kvopt.sweeps.contradictions import run_summaries
from schedules import make_schedule
from schedules.schedule_files import schedule_document
from tests.kvopt.best_known.registry import have_library
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import Capture, Patch, store_runs
from tests.reports.synthetic import record
from tests.tiers import a_few

#: Two that never fit together.
PAIR = Instance("pair", 3, (Request(0, 0, 2, 1), Request(1, 0, 2, 1)))
KEY = "7" * 64
SCHEDULE = make_schedule(PAIR, [0, 1], "cpsat")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: Patch) -> Path:
    """One run with its schedule and a certificate."""
    have_library(monkeypatch, PAIR)
    path = tmp_path / "runs.sqlite"
    row = record(key=KEY, instance="pair", instance_sha256=PAIR.sha256, method="cpsat", tel=3)
    store_runs(path, FinishedRun(row, SCHEDULE, {"kind": "volumes", "value": 3}, PAIR))
    return path


def _set(store: Path, table: str, column: str, value: object) -> None:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.commit()


#: What stands where a document was packed.
BLOBS = {
    "no gzip": b"not gzip",
    "empty": b"",
    "cut off": gzip.compress(b'{"starts": [0, 1]}')[:-9],
    "no JSON": gzip.compress(b"{"),
    "no UTF-8": gzip.compress(b"\xff"),
    "no object": gzip.compress(b"[1]"),
    "deep": gzip.compress(b"[" * 10**5),
    "text": "text",
}
#: Of the right form, but for one field.
WRONG = {
    f"kept {kept}": gzip.compress(json.dumps(schedule_document(SCHEDULE) | {"kept": kept}).encode())
    for kept in (5, [5], [[0, "x"]], "x", {"a": 1})
}
RUN = f"run {KEY[:12]}"


@pytest.mark.parametrize("kind", a_few(sorted(WRONG) + sorted(BLOBS), 2))
def test_damaged_schedules(kind: str, store: Path, tmp_path: Path, refused: Refused) -> None:
    """Reports, the registry and sweeps say in one line which run it is of."""
    _set(store, "proofs", "schedule", (WRONG | BLOBS)[kind])
    named = f"schedule of {RUN} is damaged: "
    assert named in refused(best_known.main, "--store", store, "--folder", tmp_path / "r")
    if kind in BLOBS:
        out = ["--out", tmp_path / "report", "--quiet"]
        assert named in refused(reports.build.main, "--store", store, *out)
    _set(store, "runs", "method", "file:mine.py")
    with contextlib.closing(Store(store)) as opened, pytest.raises(Exception, match=named):
        run_summaries(opened, None)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        # Of another type: SQLite lets anything stand in a column.
        ("finished_utc", "yesterday", "date: "),
        ("tel", "twelve", "tel: "),
        ("seconds", b"\xff", "seconds: "),
        ("method", b"\xff", "method: "),
        # Of its type, and yet no value of the registry.
        ("seconds", float("inf"), "seconds: "),
        ("tel", -5, "value: "),
        ("lower_bound", -5, "value: "),
        ("solver", "x" * 500, "solver: "),
        ("certificate", b"\x1f\x8b\x08\x00garbage", ""),
    ],
)
def test_what_no_registry_holds_is_named(
    column: str, value: object, told: str, store: Path, tmp_path: Path, refused: Refused
) -> None:
    """The registry says what it expected of which run; nothing is taken from that."""
    _set(store, "runs", "lower_bound", 3)
    _set(store, "proofs" if column == "certificate" else "runs", column, value)
    field = f"{RUN} is damaged: field {told}" if told else f"certificate of {RUN} is damaged: "
    for more in ([], ["--check"]):
        named = ["--store", store, "--folder", tmp_path / "r", *more]
        assert field in refused(best_known.main, *named)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("incumbents", "5", "expected a trace of pairs (seconds, value), found 5"),
        ("incumbents", "[[1, 2, 3]]", "expected a trace of pairs"),
        ("bounds", '[["a", "b"]]', "expected a trace of pairs"),
        ("bounds", "null", "expected a trace of pairs"),
        ("bounds", "[" * 10**5, "maximum recursion depth"),
        ("command", '"x"', "command: expected a JSON list, found x"),
        ("tel", "1" * 30, "expected an integer of 64 bits"),
        ("tel", "1" * 5000, "Exceeds the limit"),
    ],
)
def test_damaged_cells_of_csv(
    column: str, value: str, told: str, store: Path, tmp_path: Path
) -> None:
    """One line names the fault."""
    path = tmp_path / "rows.csv"
    frame = read_rows(store)
    export_rows(frame, path)
    assert len(read_rows(path)) == 1
    flat = pd.read_csv(path, dtype=str, keep_default_na=False)
    flat[column] = value
    flat.to_csv(path, index=False)
    with pytest.raises(ExportError, match=rf"\A.*{re.escape(told)}.*\Z"):
        read_rows(path)


def test_a_store_that_cannot_be_opened_is_let_go(tmp_path: Path) -> None:
    """What is left open would hold a lock on the file, and whoever comes next waits a minute."""
    path = tmp_path / "runs.sqlite"
    path.write_bytes(b"no database, but longer than the header of one" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(path)
    assert str(path) not in [file.path for file in psutil.Process().open_files()]


@pytest.mark.parametrize(
    "value", a_few((5, b"\xff", 5.5, "5", "[5]", "[[1]]", "{", '["a", "b"]'), 2)
)
@pytest.mark.parametrize("column", ["versions", "incumbents", "command", "method"])
def test_a_cell_that_holds_something_else_is_a_line(
    column: str, value: object, store: Path, capsys: Capture
) -> None:
    """A board says what cannot be read, of JSON and of text, or shows what is of the right kind."""
    _set(store, "runs", column, value)
    code = evaluate(["--store", str(store), "--export", str(store.with_suffix(".csv"))])
    shown = capsys.readouterr()
    fine = str(value)[:1] == "[" if column == "command" else column == "method"
    if fine and not isinstance(value, bytes):
        assert code == 0  # SQLite makes a text of a number in a column of texts
    else:
        assert code == 6
        assert "runs.sqlite: cannot be read: " in shown.err
        assert shown.err.count("\n") == 1


def test_damaged_parquet_is_a_line(store: Path, tmp_path: Path) -> None:
    """Whatever the libraries stumble over: 300 files with some bytes changed, some cut off."""
    path, draws = tmp_path / "rows.parquet", random.Random(8)
    export_rows(read_rows(store), path)
    whole = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(draws.randint(1, 4)):
            damaged[draws.randrange(len(damaged))] = draws.randrange(256)
        path.write_bytes(damaged[: draws.choice([len(damaged), draws.randrange(len(damaged))])])
        with contextlib.suppress(ExportError):
            rows = read_rows(path)
            assert all(type(each) is str for each in rows["method"])
    # A file that pandas reads may hold numbers where texts and JSON belong.
    for column in ("versions", "incumbents", "method"):
        pd.read_parquet(io.BytesIO(whole)).assign(**{column: 5}).to_parquet(path)
        with pytest.raises(ExportError, match="rows cannot be read"):
            read_rows(path)
