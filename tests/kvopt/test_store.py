"""The store: what is put in comes out, whoever else writes; test_postgres.py has a server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reports.build
from instances import Instance, Request
from instances.files import instance_document
from kvopt.best_known import __main__ as best_known
from kvopt.commands import evaluate
from kvopt.runs.task import Finished
from kvopt.store import Store
from kvopt.store.location import LocationError
from schedules.files import parse_schedule
from serving.commands import capacity, rates
from support.command import Command
from tests.commands import run_command
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
    "provenance": {},
}
INSTANCE = Instance("one", 9, (Request(0, 0, 1, 1),))
RUN = Finished(RECORD, parse_schedule(SCHEDULE), {"prices": ["1/3"]}, INSTANCE)
#: What breaks out of careless SQL, or is no text to a database.
HOSTILE = [
    "'; DROP TABLE runs; --",
    '"; DELETE FROM runs WHERE "1"="1',
    "%s %(key)s :key ? $1 \\",
    "../../x,<script>alert(1)</script>",
    "Ωμέγα 日本 🚀",
]


@pytest.fixture
def location(tmp_path: Path) -> str:
    """Where an empty store can be."""
    return str(tmp_path / "runs.sqlite")


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
    store.put(Finished(replace(RECORD, status="crashed", tel=None)))
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
    assert stores[1].schedule("key 7") == SCHEDULE
    for store in stores:
        store.close()


#: What is no store, with the password "hid den" or a part of it where it is for a server.
NO_STORES = [
    "postgresql://kvopt:hid@host/db",
    "postgresql://kvopt:hid den@host/db",
    "postgresql://kvopt:hid@den@host/db",
    "postgresql://kvopt:hid/den@host/db.csv",
    "postgresql://kv/opt:hid@host/db",
    "postgresql://kvopt:hid",
    "postgresql://kvopt@host/db?sslmode=require&PassWord=hid den",
    "postgresql://kvopt@host/db?sslpassword=hid",
    "mysql://kvopt:hid@host/db",
    "postgresql:/kvopt:hid@host/db",
    "kvopt:hid@host/db",
    "//kvopt:hid@host",
    "host=h user=kvopt password=hid",
    *("", " ", ":memory:", "sqlite://", "sqlite:///:memory:", "sqlite:///x?mode=ro"),
]


@pytest.mark.parametrize("text", NO_STORES)
def test_what_is_no_store(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that tells nothing of it, and no file of that name appears."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        LocationError, match=r"^the store: expected a file or postgresql:"
    ) as caught:
        Store(text)
    assert not any(part in str(caught.value) for part in ("hid", "den", "\n"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        (evaluate.main, "tiny_one_token", "--methods", "svf"),
        (evaluate.main, "leaderboard"),
        (rates.main, "uniform", "--set", "n=2", "--rates", "1"),
        (capacity.main, "uniform", "--set", "n=2", "--slo", "e2el:30s"),
        (best_known.main,),
        (reports.build.main, "--out", "nowhere"),
    ],
    ids=lambda command: " ".join([command[0].name, *command[1:2]]),
)
@pytest.mark.parametrize("url", [NO_STORES[0], NO_STORES[3]])
def test_a_password_is_bad_usage(command: tuple[Command, str], url: str, tmp_path: Path) -> None:
    """Code 2 and one line that names PGPASSFILE and not the password; nothing is made."""
    result = run_command(*command, "--store", url, cwd=tmp_path)
    (line,) = result.stderr.splitlines()
    assert (result.returncode, result.stdout) == (2, "")
    assert "PGPASSFILE" in line
    assert "hid" not in line
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be taken for a server is a file behind the name of a folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "./u:v@h", "./x=y", str(tmp_path / "a@b.sqlite")):
        Store(name).close()
        assert Path(name).exists()
