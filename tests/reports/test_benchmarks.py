"""The ratios of the benchmarks over the nights: kept once, refused in one line, drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.benchmarks.__main__ import COLUMNS, main


def _night(folder: Path, day: int, **values: object) -> Path:
    document: dict[str, Any] = {
        "datetime": f"2026-11-{day:02}T02:23:00.123456+00:00",
        "machine_info": {"python_version": "3.11.7", "cpu": {"count": 2}},
        "commit_info": {"id": "0123456789abcdef"},
        "benchmarks": [
            {
                "fullname": "tests/benchmarks/test_bench_simulator.py::test_growth[mc-sf]",
                "extra_info": {"literal / simulator": 8.0, "seconds": 3.0, "TEL / svf": "none"},
            },
            {
                "fullname": "tests/benchmarks/test_bench_bounds.py::test_lp",
                "extra_info": {"seconds / seconds of lp": 0.5, **values},
            },
        ],
    }
    path = folder / f"night{day}.json"
    path.write_text(json.dumps(document))
    return path


def test_nights_are_kept_once_and_compared(tmp_path: Path, capsys: Any) -> None:
    """Two nights of two ratios, one of them added twice; the page has the change."""
    folder = tmp_path / "benchmarks"
    first, second = _night(tmp_path, 1), _night(tmp_path, 2, **{"seconds / seconds of lp": 0.75})
    for night in (second, first, second):
        assert main(["--add", str(night), "--folder", str(folder)]) == 0
    rows = pd.read_csv(folder / "ratios.csv", dtype={"git_commit": str})
    assert tuple(rows.columns) == COLUMNS
    assert rows["value"].tolist() == [0.5, 8.0, 0.75, 8.0]
    assert rows["git_commit"].unique().tolist() == ["012345678"]
    text = (folder / "README.md").read_text()
    cells = [cell.strip() for cell in text.splitlines()[-2].split("|")[1:-1]]
    assert cells == ["`bounds.py::test_lp`", "seconds / seconds of lp", "2", "0.75", "0.5", "1.5"]
    assert (folder / "ratios.svg").read_bytes().startswith(b"<?xml")
    assert main(["--check", "--folder", str(folder)]) == 0
    (folder / "README.md").write_text(text.replace("0.75", "0.76"))
    assert main(["--check", "--folder", str(folder)]) == 1
    assert "is stale" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "no benchmarks of pytest"),
        ('{"benchmarks": []}', "no benchmarks of pytest"),
        (
            '{"machine_info": {}, "commit_info": {}, "datetime": "", "benchmarks": []}',
            "no benchmark in it has a ratio",
        ),
        (None, "No such file"),
    ],
)
def test_what_is_no_measurement_is_one_line(
    text: str | None, reason: str, tmp_path: Path, capsys: Any
) -> None:
    """Nothing is written then."""
    path = tmp_path / "bench.json"
    if text is not None:
        path.write_text(text)
    folder = tmp_path / "benchmarks"
    assert main(["--add", str(path), "--folder", str(folder)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert reason in error
    assert not folder.exists()
    assert main(["--check", "--add", str(path)]) == 2
