"""A sweep that is killed, interrupted, or shares or fills its disk loses and repeats nothing."""

import random
import signal
import sqlite3
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kvopt.store import StoreError
from kvopt.store.row_files import read_rows
from tests.kvopt.conftest import DISK_BYTES
from tests.kvopt.sweep_tools import Evaluate, wait_until, write_small

KILLS = 20
INSTANCES = 40
#: What is left on the disk for a sweep, bytes: a few rows.
LEFT = 160_000
#: Policies only: their results do not depend on how busy the machine is.
METHODS = "svf,a-min with noise"
#: What a run measures of itself, and when.
_MEASURED = ["seconds", "start_seconds", "total_seconds", "peak_memory", "incumbents", "bounds"]
_MEASURED += ["finished_utc", "command", "git_commit", "solver_seconds"]


def _what_is_decided(rows: pd.DataFrame) -> list[dict[Any, Any]]:
    return rows.drop(columns=_MEASURED).astype(object).where(rows.notna(), None).to_dict("records")


def _check_file(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def _has_more(store: Path, stored: int, process: subprocess.Popen[str]) -> bool:
    return process.poll() is not None or _stored(store) > stored


def _stored(store: Path) -> int:
    """Return how many runs are stored; the tables of a file are made in one transaction."""
    try:
        return len(read_rows(store))
    except StoreError:
        return 0


@pytest.mark.slow("waits")
def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    """Resumed each time, it ends with the rows of an undisturbed sweep, each run only once."""
    folder = tmp_path / "instances"
    write_small(folder, INSTANCES)
    arguments = [folder, "--methods", METHODS, "--seeds", 2, "--jobs", 2]
    whole, killed = tmp_path / "whole.sqlite", tmp_path / "killed.sqlite"
    assert Evaluate([*arguments, "--store", whole]).call().returncode == 0

    command = Evaluate([*arguments, "--store", killed])
    moments = random.Random(5)
    finished: dict[str, str] = {}
    levels = set()
    for kill in range(KILLS):
        process = command.start()
        # Some while it starts, some once another run is stored.
        if kill % 4:
            wait_until(partial(_has_more, killed, len(finished), process))
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        process.communicate()
        if killed.exists():
            _check_file(killed)
        if finished or _stored(killed):
            rows = read_rows(killed)
            now = dict(zip(rows["key"], rows["finished_utc"], strict=True))
            assert finished.items() <= now.items(), "a stored run was lost or run again"
            finished = now
            levels.add(len(now))
    assert command.alive() == []
    assert len(levels) > 2, "the kills did not come in the middle of the sweep"
    result = command.call()
    assert result.returncode == 0
    assert f"{len(finished)} of them stored already" in result.stdout

    expected, found = read_rows(whole), read_rows(killed)
    # svf draws nothing and runs once, a-min with noise runs with both seeds.
    assert len(expected) == 3 * INSTANCES
    assert _what_is_decided(found) == _what_is_decided(expected)
    _check_file(killed)


@pytest.mark.slow("waits")
def test_an_interrupt_stops_the_runs_and_keeps_the_rows(tmp_path: Path) -> None:
    """Ctrl-C ends with 130 within seconds, says how to go on, and leaves no process behind."""
    (path,) = write_small(tmp_path, 1)
    slow = Path(__file__).parent / "bad_methods" / "ignores_its_limit.py"
    store = tmp_path / "runs.sqlite"
    command = Evaluate([path, "--methods", f"svf,file:{slow}", "--store", store])
    process = command.start()
    wait_until(lambda: _stored(store))
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - asked < 10
    assert err.strip().endswith("the same command resumes")
    assert "Traceback" not in err
    assert command.alive() == []
    assert list(read_rows(store)["method"]) == ["svf"]


def test_engines_die_with_a_killed_sweep(tmp_path: Path, hard: Path) -> None:
    """The engines that a run has started in processes of their own are gone as well."""
    command = Evaluate([hard, "--methods", "auto", "--store", tmp_path / "runs.sqlite"])
    assert command.killed_when(lambda: command.workers() >= 2) == []


@pytest.mark.slow("walks")
def test_a_full_disk_ends_the_sweep_with_one_line(tmp_path: Path, disk: Path) -> None:
    """Exit 6; the rows so far are intact; when there is room again, the same command resumes."""
    folder = tmp_path / "instances"
    write_small(folder, 10)
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
    _check_file(store)
    stored = read_rows(store)
    assert 0 < len(stored) < 20
    resumed = command.call()
    assert resumed.returncode == 0
    assert f"20 runs, {len(stored)} of them stored already" in resumed.stdout
    rows = read_rows(store)
    assert len(rows) == 20
    again = rows[rows["key"].isin(stored["key"])].reset_index(drop=True)
    assert list(again["finished_utc"]) == list(stored["finished_utc"])
