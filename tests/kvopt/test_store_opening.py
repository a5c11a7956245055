"""Opening a store: versions, other people's files, and disks on which nothing can be written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import reports.build
from kvopt.best_known import __main__ as best_known
from kvopt.commands import evaluate
from kvopt.runs.task import Finished
from kvopt.store import Store, StoreError, database, store
from kvopt.store.export import read_rows
from reports.nightly import __main__ as nightly
from support.command import Command
from tests.commands import run_command
from tests.kvopt.sweep_tools import ROOT, store_runs
from tests.kvopt.test_store import RECORD, RUN, SCHEDULE, named

_NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's."""
    made = Path(tempfile.mkdtemp(prefix="kvopt-test-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


@contextmanager
def _without_writing(folder: Path) -> Iterator[None]:
    """Take the right to write away, also from root, whom modes do not bind."""
    for path in [*folder.iterdir(), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in [folder, *folder.iterdir()]:
            path.chmod(0o755)


def _unmerged(path: Path, run: Finished) -> None:
    """Leave a second run in the log only, as a killed sweep does."""
    store_runs(path, run)
    store = Store(path)
    store.put(named("second"))
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{path}{suffix}.kept")
    store.close()
    for suffix in ("", "-wal"):
        os.replace(f"{path}{suffix}.kept", f"{path}{suffix}")


@pytest.mark.parametrize(("unmerged", "count"), [(False, 1), (True, 2)])
def test_a_store_on_a_read_only_disk_is_read(folder: Path, unmerged: bool, count: int) -> None:
    """Rows, proofs and instances come out; rows that only the log holds are not left out."""
    path = folder / "runs.sqlite"
    (_unmerged if unmerged else store_runs)(path, RUN)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    with _without_writing(folder):
        assert len(read_rows(path)) == count
        store = Store(path, readonly=True)
        assert store.schedule(RECORD.key) == SCHEDULE
        with pytest.raises(StoreError, match="cannot be written"):
            store.put(RUN)
        store.close()
        with pytest.raises(StoreError, match="cannot be opened"):
            Store(path)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


def test_reading_changes_nothing(folder: Path) -> None:
    """Where something could be written, a reader leaves the file as it was."""
    path = folder / "runs.sqlite"
    store_runs(path, RUN)
    before = path.read_bytes()
    store = Store(path, readonly=True)
    with pytest.raises(StoreError, match="readonly"):
        store.put(RUN)
    store.close()
    assert path.read_bytes() == before


def test_a_reader_sees_what_a_writer_adds(folder: Path) -> None:
    """Reading beside a sweep that is under way: each row that is stored by then."""
    path = folder / "a b?c#d%20.sqlite"
    store_runs(path, RUN)
    writer = Store(path)
    reader = Store(path, readonly=True)
    writer.put(named("second"))
    assert {key for key, _ in reader.statuses()} == {RECORD.key, "second"}
    reader.close()
    writer.close()
    assert [each.name for each in folder.iterdir()] == [path.name]


@pytest.mark.slow("walks")
@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="no setpriv, and modes bind no root",
)
def test_a_sweep_on_a_read_only_disk(folder: Path) -> None:
    """What is stored is exported and reported; a run that is left over is one line, not run."""
    path = folder / "runs.sqlite"
    instances = [str(ROOT / "instances/tiny" / f"{name}.json") for name in ("one_token", "horizon")]
    base = [sys.executable, str(ROOT / "evaluate.py"), "--methods", "svf", "--store", str(path)]
    run_command(evaluate.main, *base[2:], instances[0]).check_returncode()
    folder.chmod(0o555)
    path.chmod(0o444)
    with tempfile.TemporaryDirectory() as out:
        Path(out).chmod(0o777)
        export = str(Path(out) / "rows.csv")
        # Root without the capability that lets it write everywhere.
        drop = "-dac_override,-dac_read_search"
        less = ["setpriv", "--bounding-set", drop] if os.geteuid() == 0 else []
        for given, code in (([], 0), ([instances[0]], 0), (instances, 6)):
            result = subprocess.run(
                [*less, *base, *given, "--export", export],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert result.returncode == code, result.stderr
            assert Path(export).exists() is (code == 0)
            Path(export).unlink(missing_ok=True)
        assert "cannot be written, 1 run left" in result.stderr


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (evaluate.main, ["--export", "rows.csv"]),
        (best_known.main, []),
        (best_known.main, ["--check"]),
        (reports.build.main, ["--out", "report"]),
        (nightly.main, ["--suite", "smoke", "--out", "night"]),
    ],
)
def test_a_store_that_is_not_there_is_not_made(
    command: Command, arguments: list[str], tmp_path: Path
) -> None:
    """Commands that read say so in one line; a mistyped name is no empty store."""
    result = run_command(command, *arguments, "--store", "nothere.sqlite", cwd=tmp_path)
    assert result.returncode in (2, 6)
    assert result.stderr.endswith("nothere.sqlite: there is no such store\n")
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("CREATE TABLE songs (title TEXT)", "an SQLite file of something else"),
        ("CREATE TABLE runs (key TEXT)", "its table runs has no batch_time"),
    ],
)
def test_a_database_of_something_else_is_refused(
    tmp_path: Path, table: str, told: str, readonly: bool
) -> None:
    """Nobody's tables get ours beside them."""
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(table)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"no store of .*kvopt.*{told}"):
        Store(path, readonly=readonly)
    assert path.read_bytes()[:24] == before[:24] or not readonly
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'")
        assert names.fetchone() == (1,)


def test_an_empty_file_has_no_runs(tmp_path: Path) -> None:
    """It becomes a store when it is written, and is none for a reader."""
    path = tmp_path / "empty.sqlite"
    path.touch()
    with pytest.raises(StoreError, match="it has no table runs"):
        Store(path, readonly=True)
    assert best_known.main(["--store", str(path), "--check"]) == 2
    store_runs(path, RUN)
    assert len(read_rows(path)) == 1


@pytest.mark.parametrize(("busy", "code"), [(3, sqlite3.SQLITE_BUSY), (1, sqlite3.SQLITE_FULL)])
def test_who_makes_the_file_beside_others_waits_for_them(busy: int, code: int) -> None:
    """SQLite itself reports another connection that sets the mode at once; other errors stand."""
    asked = []

    class Connection:
        def execute(self, statement: str) -> None:
            asked.append(statement)
            if len(asked) <= busy:
                error = sqlite3.OperationalError("not now")
                error.sqlite_errorcode = code
                raise error

    if code == sqlite3.SQLITE_BUSY:
        database.log_ahead(Connection())  # type: ignore[arg-type]
        assert asked == ["PRAGMA journal_mode=WAL"] * (busy + 1)
    else:
        with pytest.raises(sqlite3.OperationalError):
            database.log_ahead(Connection())  # type: ignore[arg-type]
        assert len(asked) == 1


def test_a_finished_run_waits_for_a_lock_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes for longer than the word takes: the run is stored after it."""
    monkeypatch.setattr(store, "_SECONDS_UNTOLD", -1)
    told: list[str] = []
    with closing(Store(tmp_path / "runs.sqlite")) as opened:
        other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        def let_go(line: str) -> None:
            told.append(line)
            other.execute("ROLLBACK")

        opened.put(RUN, tell=let_go)
        assert [key for key, *_ in opened.statuses()] == [RUN.record.key]
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(store, "SECONDS_TO_WAIT", 0)
        with pytest.raises(StoreError, match="locked"):
            opened.put(RUN)
        other.close()
    assert [line.partition(": ")[2][:25] for line in told] == ["locked by another process"]
