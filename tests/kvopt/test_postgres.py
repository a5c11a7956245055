"""A store on a real PostgreSQL server, whose password stands in a file."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from instances.files import instance_document
from kvopt.store import Store, StoreError
from tests.kvopt.sweep_tools import Patch
from tests.kvopt.test_store import HOSTILE, INSTANCE, RECORD, RUN, SCHEDULE, named, side_by_side

_PASSWORD = "se'cr@t%/#"
Control = Callable[..., None]


@pytest.fixture
def server(monkeypatch: Patch) -> Iterator[tuple[str, Control]]:
    """The URL of a server's database, and pg_ctl; skipped where no server is installed."""
    pytest.importorskip("psycopg")
    # Debian keeps them off the PATH, and PostgreSQL refuses to run as root.
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    root = os.geteuid() == 0
    if not programs or (root and "postgres" not in [each.pw_name for each in pwd.getpwall()]):
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    # Not below pytest's own folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="kvopt-postgres-"))

    def run(program: str, *arguments: str) -> None:
        command = [programs[-1] / program, "--pgdata", folder / "data", *arguments]
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if root else {}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)  # type: ignore[call-overload]

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name, text in (("new", _PASSWORD), ("pgpass", f"127.0.0.1:{port}:*:kvopt:{_PASSWORD}")):
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
        (folder / name).chmod(0o600)
    if root:
        for path in (folder, folder / "new"):
            shutil.chown(path, "postgres", "postgres")
    run("initdb", "--username=kvopt", f"--pwfile={folder / 'new'}", "--auth=scram-sha-256", "-N")
    monkeypatch.setenv("PGPASSFILE", str(folder / "pgpass"))
    control = partial(run, "pg_ctl", "--wait", "--log", str(folder / "log"))
    options = f"-h 127.0.0.1 -p {port} -k {folder} -F"
    start = partial(control, "--options", options, "start")
    start()
    try:
        yield f"postgresql://kvopt@127.0.0.1:{port}/postgres", control
    finally:
        control("--mode=immediate", "stop")
        shutil.rmtree(folder)


def test_a_store_on_a_server(server: tuple[str, Control]) -> None:
    """Runs come out as they were put in, whatever their names and whoever else writes."""
    url, _ = server
    with pytest.raises(StoreError, match="it has no table runs"):
        Store(url, readonly=True)
    assert side_by_side(*[lambda: Store(url).close()] * 4) == []
    with closing(Store(url)) as one, closing(Store(url)) as other:
        one.put(RUN)
        runs = [named(f"key {k}", seed=k, method=HOSTILE[k % len(HOSTILE)]) for k in range(20)]
        works = [partial(one.put, *runs), partial(other.put, *reversed(runs))]
        assert side_by_side(*works * 2) == []
        rows = other.rows().set_index("key")
        assert len(rows) == 1 + len(runs)
        for run in (RUN, *runs):
            for name in ("method", "tel", "relaxation", "incumbents", "versions", "command"):
                assert rows.loc[run.record.key, name] == getattr(run.record, name)
        one.put(named("odd", detail="a\0b \udcff", lower_bound=10**30))
        assert other.schedule(RECORD.key) == SCHEDULE
        assert other.certificate(RECORD.key) == RUN.certificate
        assert other.instance(RECORD.instance_sha256) == instance_document(INSTANCE)


def test_a_server_that_stops_and_comes_back(server: tuple[str, Control]) -> None:
    """A lost server is one line; the store goes on when it is back, with all it had."""
    url, control = server
    with closing(Store(url)) as store:
        store.put(RUN)
        control("--mode=immediate", "stop")
        with pytest.raises(StoreError, match=r"^.*: cannot be written: .*refused") as caught:
            store.put(named("second"))
        assert "\n" not in str(caught.value)
        control("restart")
        store.put(named("second"))
        assert {key for key, _ in store.statuses()} == {RECORD.key, "second"}
