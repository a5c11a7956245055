"""The store on a real PostgreSQL server and on SQLite: one contract for both."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from instances import Instance, Request, write_instance
from kvopt.commands.evaluate import main
from kvopt.running.task import Finished
from kvopt.store import Store, StoreError
from tests.commands import run_command
from tests.kvopt.postgres_server import PASSWORD, PostgresServer
from tests.kvopt.sweep_tools import ROOT, wait_until
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
SCHEDULE = {
    "schema": "kvopt.schedule/1",
    "instance": "one",
    "instance_sha256": "0" * 64,
    "method": "svf",
    "starts": [0, 1],
    "tel": 3,
    "lower_bound": None,
    "status": "feasible",
}
RUN = Finished(RECORD, SCHEDULE, {"prices": ["1/3"]}, {"name": "one", "memory": 9})
#: What breaks out of careless SQL, or is no text to a database.
HOSTILE = [
    "'; DROP TABLE runs; --",
    '"; DELETE FROM runs WHERE "1"="1',
    "%s %(key)s :key ? $1 \\",
    "../../x,<script>alert(1)</script>",
    "Ωμέγα 日本 🚀",
]


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    """An empty store."""
    opened = Store(location)
    yield opened
    opened.close()


def side_by_side(*works: Callable[[], object]) -> list[BaseException]:
    """Do things at the same time and return what went wrong."""
    start = threading.Barrier(len(works))

    def carry_out(work: Callable[[], object]) -> None:
        start.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        ended = [pool.submit(carry_out, work) for work in works]
    return [error for each in ended if (error := each.exception()) is not None]


def named(key: str, **changes: Any) -> Finished:
    """Return the run under another key, with changed columns."""
    return replace(RUN, record=replace(RECORD, key=key, **changes))


def test_what_is_put_in_comes_out(store: Store) -> None:
    """Every column and document comes back, of both kinds alike."""
    store.put(RUN)
    (row,) = store.rows().to_dict("records")
    for name, value in vars(RECORD).items():
        assert pd.isna(row[name]) if value is None else row[name] == value, name
    assert list(store.statuses().values()) == ["feasible"]
    assert store.schedule(RECORD.key) == RUN.schedule
    assert store.certificate(RECORD.key) == RUN.certificate
    assert store.instance(RECORD.instance_sha256) == RUN.instance


def test_second_run_of_a_key_replaces_the_first(store: Store) -> None:
    """One row a key, whole: nothing of the first run's proofs is left."""
    store.put(RUN)
    store.put(Finished(replace(RECORD, status="crashed", tel=None)))
    assert list(store.statuses().values()) == ["crashed"]
    assert store.schedule(RECORD.key) is None
    assert store.certificate(RECORD.key) is None
    assert store.instance(RECORD.instance_sha256) == RUN.instance


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_only_text(store: Store, text: str) -> None:
    """No name of an instance or method is ever part of a statement."""
    store.put(RUN)
    store.put(named("other", instance=text, method=text, family=text, section=text, detail=text))
    rows = store.rows().set_index("key")
    assert len(rows) == 2
    assert {rows.loc["other", name] for name in ("instance", "method", "family", "detail")} == {
        text
    }


def test_text_and_numbers_that_no_database_holds(store: Store) -> None:
    """NUL, halves of surrogate pairs and endless integers are written down as far as possible."""
    store.put(named("odd", detail="a\0b \udcff", command=["\0", "\ud800"], lower_bound=10**30))
    row = store.rows().iloc[0]
    assert row["detail"] == "a\\x00b \\udcff"
    assert row["command"] == ["\\x00", "\\ud800"]
    assert row["lower_bound"] == 2**63 - 1


def test_many_open_the_same_new_store(location: str) -> None:
    """Tables are made once, whoever comes first."""
    assert side_by_side(*[lambda: Store(location).close()] * 8) == []


def test_two_writers(location: str) -> None:
    """Two sweeps that write the same keys and instances do not disturb each other."""
    stores = [Store(location) for _ in range(2)]
    runs = [named(f"key {k}", seed=k) for k in range(40)]

    def write(store: Store) -> None:
        for run in runs:
            store.put(run)

    def write_at_once(store: Store) -> None:
        # In the opposite order, which is where databases get stuck.
        for _ in range(5):
            store.put(*reversed(runs))

    works = [partial(each, store) for each in (write, write_at_once) for store in stores]
    assert side_by_side(*works) == []
    assert {key for key, _ in stores[0].statuses()} == {run.record.key for run in runs}
    assert stores[1].schedule("key 7") == RUN.schedule
    for store in stores:
        store.close()


def test_server_that_stops_and_comes_back(server: PostgresServer, database: str) -> None:
    """A lost server is one line; the store goes on when it is back, with all it had."""
    store = Store(database)
    store.put(RUN)
    server.stop()
    try:
        with pytest.raises(StoreError, match=r"^.*: cannot be written: .*refused") as caught:
            store.put(named("second"))
    finally:
        server.start()
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
    store.put(named("second"))
    assert {key for key, _ in store.statuses()} == {RECORD.key, "second"}
    store.close()


def test_passwords_are_never_shown(server: PostgresServer) -> None:
    """Neither names nor errors hold the password, wherever in the URL it stands."""
    for url in (
        server.url(password="hidden"),
        f"postgresql://kvopt@127.0.0.1:{server.port}/postgres?password=hidden",
        "postgresql://kvopt:hid@den:hidden@127.0.0.1/x",
        "postgresql://kvopt:hid@den@127.0.0.1/x",
        "postgresql+nonsense://kvopt:hidden@127.0.0.1/x",
        "mysql://kvopt:hidden@127.0.0.1/x",
    ):
        with pytest.raises(StoreError) as caught:
            Store(url)
        assert "hid" not in str(caught.value)
        assert "den" not in str(caught.value)
    store = Store(server.url())
    assert store.name == f"postgresql+psycopg://kvopt:***@127.0.0.1:{server.port}/postgres"
    store.close()


def test_password_from_a_file(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL need not hold the password: PostgreSQL's own password file is read."""
    file = tmp_path / "pgpass"
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"127.0.0.1:{server.port}:*:kvopt:{escaped}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    store = Store(server.url(password=None))
    assert store.statuses() == {}
    store.close()


@pytest.mark.slow("walks")
def test_sweep_without_its_server_and_resumed(
    server: PostgresServer, database: str, tmp_path: Path
) -> None:
    """A sweep whose server stops ends with one line and code 6; the same command completes it."""
    method = tmp_path / "slow.py"
    method.write_text(
        "import time\n"
        "def solve(instance):\n"
        "    time.sleep(0.2)\n"
        "    return [sum(r.output for r in instance.requests[:i]) for i in range(len(instance))]\n"
    )
    for k in range(8):
        requests = tuple(Request(i, 0, 1, 1 + (i + k) % 3) for i in range(3))
        write_instance(Instance(f"i{k}", 9 + k, requests), tmp_path / f"i{k}.json")
    command: list[str | Path] = [
        sys.executable,
        ROOT / "evaluate.py",
        *sorted(tmp_path.glob("*.json")),
    ]
    command += ["--methods", f"file:{method}", "--store", database]
    store = Store(database)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sweep:
        wait_until(lambda: len(store.statuses()) >= 2)
        server.stop()
        _, errors = sweep.communicate(timeout=60)
    server.start()
    assert sweep.returncode == 6
    lines = errors.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("evaluate.py: postgresql+psycopg://kvopt:***@127.0.0.1:")
    before = store.rows().set_index("key")["finished_utc"]
    assert 2 <= len(before) < 8
    assert run_command(main, *command[2:]).returncode == 0
    after = store.rows().set_index("key")
    assert len(after) == 8
    assert set(after["status"]) == {"feasible"}
    # What was stored was not run again.
    assert after["finished_utc"].loc[before.index].equals(before)
    assert not after["command"].astype(str).str.contains("cr%40t", regex=False).any()
    store.close()


def change_tables(location: str, statement: str) -> None:
    """Carry out a statement of SQL in a store."""
    url = location.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url if "://" in url else f"sqlite:///{url}")
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def test_a_reader_makes_no_tables(database: str) -> None:
    """An empty database has no runs, and still has none after that."""
    for _ in range(2):
        with pytest.raises(StoreError, match="it has no table runs"):
            Store(database, readonly=True)


@pytest.mark.parametrize("written", ["--store={}", "--store\n{}"])
def test_a_password_with_a_space_is_nowhere(
    server: PostgresServer, database: str, tmp_path: Path, written: str
) -> None:
    """Neither the row, nor the exported file, nor the output of the command holds a part of it."""
    name = database.rpartition("/")[2]
    change_tables(database, f"CREATE ROLE spaced_{name} LOGIN SUPERUSER PASSWORD 'hid den'")
    url = f"postgresql://spaced_{name}:hid den@127.0.0.1:{server.port}/{name}"
    write_instance(Instance("one", 9, (Request(0, 0, 1, 1),)), tmp_path / "one.json")
    export = tmp_path / "rows.csv"
    given = [tmp_path / "one.json", "--methods", "svf", *written.format(url).split("\n")]
    finished = run_command(main, *given, "--export", export)
    finished.check_returncode()
    store = Store(url, readonly=True)
    told = "".join(map(str, store.rows().iloc[0])) + export.read_text()
    store.close()
    for text in (told, finished.stdout, finished.stderr):
        assert "hid" not in text
        assert "den@" not in text
    assert f"spaced_{name}:***@127.0.0.1" in told
