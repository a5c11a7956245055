"""The store: what is put in comes out, whoever else writes."""

import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reports.build
from instances import Instance, Request
from instances.instance_files import instance_document
from kvopt.best_known import __main__ as best_known
from kvopt.commands import evaluate
from kvopt.runs.task import FinishedRun
from kvopt.store import Store, StoreError
from kvopt.store.location import LocationError
from kvopt.store.row_files import read_rows
from reports.nightly import __main__ as nightly
from schedules.schedule_files import parse_schedule
from support.click_command import Command
from tests.commands import run_command, run_process
from tests.kvopt.sweep_tools import ROOT, Patch, store_runs
from tests.reports.synthetic import record

RECORD = record(
    key="k" * 64,
    instance="one",
    instance_sha256="s" * 64,
    family="f",
    n=3,
    memory=9,
    method="fcfs",
    time_limit=1.5,
    tel=2**40,
    lower_bound=7,
    relaxation=6.25,
    incumbents=[(0.25, 2**40)],
    versions={"python": "3.11.2", "numpy": "2.4.6"},
    command=["evaluate.py", "smoke"],
)
SCHEDULE: dict[str, Any] = {"schema": "kvopt.schedule/1", "instance": "one", "method": "svf"}
SCHEDULE |= {"instance_sha256": "0" * 64, "status": "feasible", "starts": [0, 1], "tel": 3}
SCHEDULE |= {"lower_bound": None, "provenance": {}}
INSTANCE = Instance("one", 9, (Request(0, 0, 1, 1),))
RUN = FinishedRun(RECORD, parse_schedule(SCHEDULE), {"prices": ["1/3"]}, INSTANCE)
#: What breaks out of careless SQL, or is no text to a database.
HOSTILE = [
    "'; DROP TABLE runs; --",
    '"; DELETE FROM runs WHERE "1"="1',
    "%s %(key)s :key ? $1 \\",
    "../../x,<script>alert(1)</script>",
    "Ωμέγα 日本 🚀",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with closing(Store(tmp_path / "runs.sqlite")) as opened:
        yield opened


def side_by_side(*works: Callable[[], object]) -> list[BaseException]:
    """Do things at the same time and return what went wrong."""
    start = threading.Barrier(len(works))

    def carry_out(work: Callable[[], object]) -> None:
        start.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        ended = [pool.submit(carry_out, work) for work in works]
    return [error for each in ended if (error := each.exception()) is not None]


def named(key: str, **changes: Any) -> FinishedRun:
    """Return the run under another key, with changed columns."""
    return replace(RUN, record=replace(RECORD, key=key, **changes))


def test_what_is_put_in_comes_out(store: Store) -> None:
    """Every column and document comes back."""
    store.put(RUN)
    (row,) = store.rows().to_dict("records")
    for name, value in vars(RECORD).items():
        assert pd.isna(row[name]) if value is None else row[name] == value, name
    assert list(store.statuses().values()) == ["feasible"]
    assert store.schedule(RECORD.key) == SCHEDULE
    assert store.certificate(RECORD.key) == RUN.certificate
    assert store.instance(RECORD.instance_sha256) == instance_document(INSTANCE)


def test_second_run_of_a_key_replaces_the_first(store: Store) -> None:
    """One row a key, whole: nothing of the first run's proofs is left."""
    store.put(RUN)
    store.put(FinishedRun(replace(RECORD, status="crashed", tel=None)))
    assert list(store.statuses().values()) == ["crashed"]
    assert store.schedule(RECORD.key) is None
    assert store.certificate(RECORD.key) is None
    assert store.instance(RECORD.instance_sha256) == instance_document(INSTANCE)


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_only_text(store: Store, text: str) -> None:
    """No name of an instance or method is ever part of a statement."""
    store.put(RUN)
    store.put(named("other", instance=text, method=text, family=text, section=text, detail=text))
    rows = store.rows().set_index("key")
    assert len(rows) == 2
    for name in ("instance", "method", "family", "section", "detail"):
        assert rows.loc["other", name] == text


def test_text_and_numbers_that_no_database_holds(store: Store) -> None:
    """NUL, halves of surrogate pairs and endless integers are written down as far as possible."""
    store.put(named("odd", detail="a\0b \udcff", command=["\0", "\ud800"], lower_bound=10**30))
    row = store.rows().iloc[0]
    assert (row["detail"], row["command"]) == ("a\\x00b \\udcff", ["\\x00", "\\ud800"])
    assert row["lower_bound"] == 2**63 - 1


def test_two_writers(tmp_path: Path) -> None:
    """Sweeps that write equal keys in opposite orders do not disturb each other."""
    location = tmp_path / "runs.sqlite"
    runs = [named(f"key {k}", seed=k) for k in range(40)]

    def write(store: Store) -> None:
        for run in runs:
            store.put(run)

    def write_at_once(store: Store) -> None:
        for _ in range(5):
            store.put(*reversed(runs))

    assert side_by_side(*[lambda: Store(location).close()] * 8) == []
    stores = [Store(location) for _ in range(4)]
    pairs = zip([write, write_at_once] * 2, stores, strict=True)
    works = [partial(work, store) for work, store in pairs]
    assert side_by_side(*works) == []
    assert {key for key, _ in stores[0].statuses()} == {run.record.key for run in runs}
    assert stores[1].schedule("key 7") == SCHEDULE
    for store in stores:
        store.close()


#: What is no store, with a password or a part of it.
NO_STORES = [
    "postgresql://kvopt:hid@host/db",
    "postgresql://kvopt:hid/den@host/db.csv",
    "sqlite:///x",
    "postgresql:/kvopt:hid@host/db",
    "kvopt:hid@host/db",
    "//kvopt:hid@host",
    "folder/x://kvopt:hid@host",
    "host=h user=kvopt password=hid",
    *("", " ", ":memory:", "runs\n.sqlite"),
]


@pytest.mark.parametrize("text", NO_STORES)
def test_what_is_no_store(text: str, tmp_path: Path, monkeypatch: Patch) -> None:
    """One line that quotes nothing of it, and no file of that name appears."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LocationError, match=r"^the store: expected a file, found ") as caught:
        Store(text)
    assert not any(part in str(caught.value) for part in ("hid", "den", "\n"))
    assert list(tmp_path.iterdir()) == []


READ_ONLY = [
    (evaluate.main, "--export", "rows.csv"),
    (best_known.main,),
    (best_known.main, "--check"),
    (reports.build.main, "--out", "report"),
    (nightly.main, "--suite", "smoke", "--out", "night"),
]


@pytest.mark.parametrize("command", READ_ONLY)
def test_a_missing_store_is_not_made(command: tuple[Command, str], tmp_path: Path) -> None:
    """Commands that read say so in one line; a mistyped name is no empty store."""
    result = run_command(*command, "--store", "nothere.sqlite", cwd=tmp_path)
    assert result.returncode in (2, 6)
    (line,) = result.stderr.splitlines()
    assert line.endswith("nothere.sqlite: there is no such store")
    assert list(tmp_path.iterdir()) == []


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


def _unmerged(path: Path, run: FinishedRun) -> None:
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


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("CREATE TABLE songs (title TEXT)", "an SQLite file of something else"),
        ("CREATE TABLE runs (key TEXT)", "its table runs has no batch_time"),
    ],
)
def test_another_database_is_refused(tmp_path: Path, table: str, told: str, readonly: bool) -> None:
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


def test_a_run_waits_for_a_lock_and_says_so_once(tmp_path: Path, monkeypatch: Patch) -> None:
    """Another process writes for longer than the word takes: the run is stored after it."""
    monkeypatch.setattr("kvopt.store.store._QUIET_SECONDS", -1)
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
        monkeypatch.setattr("kvopt.store.store.SECONDS_TO_WAIT", 0)
        with pytest.raises(StoreError, match="locked"):
            opened.put(RUN)
        other.close()
    assert [line.partition(": ")[2][:25] for line in told] == ["locked by another process"]


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
            command = [*less, *base, *given, "--export", export]
            result = run_process(*command)
            assert result.returncode == code, result.stderr
            assert Path(export).exists() is (code == 0)
            Path(export).unlink(missing_ok=True)
        assert "cannot be written, 1 run left" in result.stderr
