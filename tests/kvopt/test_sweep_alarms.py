"""What stored runs prove wrong, and rows that go out of the store and come back."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kvopt.runs.record import PROVED
from kvopt.runs.task import Finished
from kvopt.store import Store, StoreError
from kvopt.store.export import ExportError, export_rows, read_rows
from kvopt.sweeps.contradictions import RunSummary, alarms, run_summaries
from schedules.files import parse_schedule
from tests.kvopt.sweep_tools import store_runs
from tests.kvopt.test_store import SCHEDULE
from tests.reports.synthetic import record

RECORD = record(
    instance="=HYPERLINK(\"x\"),'<b>'\n",
    family="NA",
    method="007",
    tel=2**62,
    lower_bound=12,
    bound_source="",
    relaxation=11.123456789012345,
    incumbents=[(0.1, 2**62)],
    versions={"python": "3.11.7"},
    command=["evaluate.py", "a b"],
)


def _summary(method: str, tel: int | None, bound: int | None, **more: str) -> RunSummary:
    given: dict[str, Any] = {"instance_sha256": "one", "status": "feasible", "detail": ""} | more
    return RunSummary(
        key=method, instance="i", method=method, seed=0, tel=tel, lower_bound=bound, **given
    )


def test_a_bound_above_the_schedule_of_another_run() -> None:
    """Two runs that exclude each other are named, both; those of two instances do not."""
    (line,) = alarms([_summary("a", 12, 3), _summary("b", 20, 13), _summary("c", None, None)])
    assert line == "b on i, seed 0: lower bound 13 exceeds the TEL 12 of a, seed 0"
    assert alarms([_summary("a", 12, 3), _summary("b", 20, 13, instance_sha256="two")]) == []
    assert alarms([_summary("a", 12, 3), _summary("b", 20, 12)]) == []


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
    store_runs(
        tmp_path / "runs.sqlite",
        Finished(replace(RECORD, method=method, tel=12, lower_bound=3), schedule=schedule),
        Finished(replace(RECORD, key="c" * 64, method="cpsat", tel=13, lower_bound=13)),
    )
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        runs = run_summaries(store, None)
    assert [run.keeps_tokens for run in runs] == [keeps, False]
    assert len(alarms(runs)) == (not keeps)


def test_refused_and_contradicted_runs() -> None:
    """Other errors are failures, not alarms."""
    runs = [
        _summary("a", None, None, status="refused", detail="at time 1"),
        _summary("b", None, None, status="error", detail="contradicted: 3 > 2"),
        _summary("c", None, None, status="error", detail="own.py:3: ZeroDivisionError"),
    ]
    assert [line.partition(" ")[0] for line in alarms(runs)] == ["a", "b"]


def test_showings_are_what_the_store_holds(tmp_path: Path) -> None:
    """All of them, or those of some keys."""
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        store.put(Finished(RECORD), Finished(replace(RECORD, key="c" * 64, tel=None)))
        assert [run.tel for run in run_summaries(store, None)] == [2**62, None]
        assert [run.key for run in run_summaries(store, ["c" * 64, "d" * 64])] == ["c" * 64]


@pytest.mark.parametrize("name", ["rows.csv", "rows.PARQUET"])
def test_rows_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    """Types, 62 bits, names that look like numbers, formulas or missing values, line breaks."""
    second = Finished(replace(RECORD, key="c" * 64, tel=None, nodes=7))
    store_runs(tmp_path / "runs.sqlite", Finished(RECORD), second)
    rows = read_rows(tmp_path / "runs.sqlite")
    export_rows(rows, tmp_path / name)
    pd.testing.assert_frame_equal(read_rows(tmp_path / name), rows.drop(columns=PROVED))
    assert rows["tel"].tolist()[0] == 2**62
    export_rows(rows[:0], tmp_path / name)
    assert len(read_rows(tmp_path / name)) == 0


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("rows.csv", b"a,b\n1,2\n", "expected a column key"),
        ("rows.csv", b"\xff\xfe\x00", "rows.csv"),
        ("rows.parquet", b"not parquet", "rows.parquet"),
        ("rows.csv", None, "rows.csv"),
        ("runs.sqlite", None, "there is no such store"),
    ],
)
def test_what_is_no_file_of_rows(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    """One line that names the file."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((ExportError, StoreError), match=reason):
        read_rows(path)


def test_an_export_is_whole_or_not_at_all(tmp_path: Path) -> None:
    """Where it cannot be written, what stood there before still does."""
    store_runs(tmp_path / "runs.sqlite")
    rows = read_rows(tmp_path / "runs.sqlite")
    with pytest.raises(ExportError, match="No such file or directory"):
        export_rows(rows, tmp_path / "missing" / "rows.csv")
    with pytest.raises(ExportError, match="expected a name with"):
        export_rows(rows, tmp_path / "rows.txt")
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"runs.sqlite"}
