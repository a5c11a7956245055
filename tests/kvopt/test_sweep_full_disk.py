"""The disk gets full during a sweep: one clear line, and nothing that was stored is lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kvopt.store.export import read_rows
from tests.kvopt.conftest import DISK_BYTES
from tests.kvopt.sweep_tools import Evaluate, write_small

INSTANCES = 10
#: What is left on the disk for the sweep, bytes: a few rows.
LEFT = 160_000


@pytest.mark.slow("walks")
def test_a_full_disk_ends_the_sweep_with_one_line(tmp_path: Path, disk: Path) -> None:
    """Exit 6; the rows so far are intact; when there is room again, the same command resumes."""
    folder = tmp_path / "instances"
    folder.mkdir()
    write_small(folder, INSTANCES)
    filler, store = disk / "filler", disk / "runs.sqlite"
    filler.write_bytes(bytes(DISK_BYTES - LEFT))
    command = Evaluate([folder, "--methods", "svf,mc-sf", "--jobs", 2, "--store", store])
    full = command.run()
    assert full.returncode == 6
    (line,) = full.stderr.splitlines()
    assert f"{store}: cannot be written" in line
    assert "is NOT stored" in line
    assert "full" in line
    assert command.alive() == []

    filler.unlink()
    with sqlite3.connect(store) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    stored = read_rows(store)
    assert 0 < len(stored) < 2 * INSTANCES
    resumed = command.call()
    assert resumed.returncode == 0
    assert f"{2 * INSTANCES} runs, {len(stored)} of them stored already" in resumed.stdout
    rows = read_rows(store)
    assert len(rows) == 2 * INSTANCES
    again = rows[rows["key"].isin(stored["key"])].reset_index(drop=True)
    assert list(again["finished_utc"]) == list(stored["finished_utc"])
