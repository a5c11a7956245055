"""One declaration of a row, and rows of the first release, which had fewer columns."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from instances import Instance, Request
from kvopt.methods.grammar import read_method
from kvopt.running.events import BoundProved
from kvopt.running.execute import execute
from kvopt.running.record import PROVED, columns, current_version
from kvopt.running.state import RunState
from kvopt.running.task import Task
from kvopt.store import Store, StoreError
from kvopt.store.export import ExportError, export_rows, read_rows
from reports.nightly.rows import COLUMNS, RowsError
from reports.nightly.rows import read_rows as read_night
from schedules.real_time.serving import METRICS
from tests.kvopt.old_store import CSV, first_release
from tests.kvopt.postgres_server import PostgresServer
from tests.kvopt.test_postgres import RECORD, RUN, side_by_side

ROOT = Path(__file__).resolve().parents[2]
#: What the columns of later versions hold in rows of the first.
DEFAULTS = {column.name: column.default for column in columns() if column.since > 1}

#: A column that is declared in one place: on top of the real ones, before anything looks at them.
_ONE_MORE = """
import sys
from dataclasses import dataclass, replace
from pathlib import Path
import kvopt.running.record as declaration
from kvopt.running.record import Annotated, Found, Since

@dataclass(frozen=True)
class Wider(declaration.Record):
    added: Annotated[Found[{kind}], Since(99)] = {default}

declaration.Record = Wider

from kvopt.running.task import Finished
from kvopt.store import Store
from kvopt.store.export import export_rows, read_rows
from reports.nightly.rows import COLUMNS, TIMING
from reports.rows import prepare
from schedules.real_time.serving import METRICS
from tests.kvopt.old_store import first_release
from tests.kvopt.test_postgres import RUN

folder = Path(sys.argv[1])
first_release(folder / "runs.sqlite")
row = Wider(**{{**vars(RUN.record), "added": {value}}})
store = Store(folder / "runs.sqlite")
store.put(replace(RUN, record=row))
kept = store.rows()
store.close()
for name in ("rows.csv", "rows.parquet"):
    export_rows(kept, folder / name)
    again = read_rows(folder / name)
    assert again["added"].tolist() == kept["added"].tolist(), again["added"]
    assert again["added"].dtype == kept["added"].dtype
assert Finished.from_line(replace(RUN, record=row).to_line()).record == row
assert set(prepare(kept)["added"].map(str)) == {{str({value}), str({default})}}
assert "added" in COLUMNS and "added" not in TIMING
print(sorted(map(str, kept["added"])), kept["added"].dtype)
"""


@pytest.mark.parametrize(
    ("kind", "value", "default", "told"),
    [
        ("int", 7, 0, "['0', '0', '7'] int64"),
        ("float", 0.5, 1.5, "['0.5', '1.5', '1.5'] float64"),
        ("str", "'x'", "'it\\'s'", "[\"it's\", \"it's\", 'x'] str"),
    ],
)
def test_a_column_is_declared_in_one_place(
    kind: str, value: object, default: object, told: str, tmp_path: Path
) -> None:
    """One line, and store, frame, CSV, Parquet, reports and the nightly's rows have the column.

    An old store gets it, too, with the default in its two rows.
    """
    program = _ONE_MORE.format(kind=kind, value=value, default=default)
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == told


def test_an_old_store_is_read_as_it_is(location: str) -> None:
    """A reader changes nothing; what the first release did not write is there by its default."""
    first_release(location)
    store = Store(location, readonly=True)
    rows = store.rows()
    assert list(rows["method"]) == ["bound:bound-lp", "svf"]
    assert (
        rows[list(DEFAULTS)]
        .astype(object)
        .where(rows[list(DEFAULTS)].notna(), None)
        .to_dict("records")
        == [DEFAULTS] * 2
    )
    assert store.select("method", "output", "root_bound") == [
        ("svf", "", None),
        ("bound:bound-lp", "", None),
    ]
    schedule = store.schedule(rows["key"][0])
    assert schedule is not None
    assert schedule["tel"] == 9
    store.close()
    assert "output" not in _columns(location)


def test_an_old_store_is_brought_up_to_date(location: str) -> None:
    """Who opens it to write adds the columns; rows and proofs are what they were."""
    first_release(location)
    reader = Store(location, readonly=True)
    before = reader.rows()
    writer = Store(location)
    pd.testing.assert_frame_equal(writer.rows(), before)
    writer.put(RUN)
    # The reader that was there before goes on.
    assert len(reader.rows()) == 3
    reader.close()
    writer.close()
    again = Store(location, readonly=True)
    kept = again.rows().set_index("key")
    again.close()
    assert kept.loc[RECORD.key, "tel"] == 2**40
    assert set(DEFAULTS) <= _columns(location)
    assert _version(location) == [(current_version(),)]


def test_many_bring_an_old_store_up_to_date(location: str) -> None:
    """Whoever comes first adds the columns, the others find them."""
    first_release(location)
    assert side_by_side(*[lambda: Store(location).close()] * 8) == []
    assert _version(location) == [(current_version(),)]


def test_a_process_of_the_first_release_goes_on(location: str) -> None:
    """A sweep that was under way puts its rows in without the columns that it does not know."""
    first_release(location)
    old = sorted(_columns(location))
    Store(location).close()
    engine = _engine(location)
    names = ", ".join(old)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO runs ({names}) SELECT "
            + ", ".join("'new'" if name == "key" else name for name in old)
            + " FROM runs WHERE method = 'svf'"
        )
    engine.dispose()
    store = Store(location, readonly=True)
    (row,) = store.rows(["new"]).to_dict("records")
    store.close()
    assert row["output"] == ""


def test_nothing_is_half_done(tmp_path: Path) -> None:
    """Columns and version are one transaction: after a failure the store is the old one."""
    path = tmp_path / "runs.sqlite"
    first_release(path)
    before = _dump(path)
    added: list[str] = []

    def fail(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("ALTER"):
            added.append(statement)
        if len(added) == 3:
            raise sa.exc.OperationalError(statement, {}, Exception("disk I/O error"))

    sa.event.listen(sa.Engine, "before_cursor_execute", fail)
    try:
        with pytest.raises(StoreError, match=rf"up to version {current_version()} \(disk"):
            Store(path)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", fail)
    assert _dump(path) == before
    Store(path).close()
    assert set(DEFAULTS) <= _columns(str(path))


def test_who_may_not_change_the_tables_is_told_what_to_do(
    server: PostgresServer,
    database: str,
) -> None:
    """One line; the owner opens it once, and from then on everybody writes."""
    first_release(database)
    name = database.rpartition("/")[2]
    engine = _engine(database)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE ROLE guest_{name} LOGIN PASSWORD 'x'")
        connection.exec_driver_sql(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON runs, instances, proofs, kvopt_version "
            f"TO guest_{name}"
        )
    engine.dispose()
    url = f"postgresql://guest_{name}:x@127.0.0.1:{server.port}/{name}"
    with pytest.raises(StoreError) as caught:
        Store(url)
    line = str(caught.value)
    assert f"cannot be brought up to version {current_version()} (must be owner" in line
    assert line.endswith(
        "open it once with the right to change its tables, or give another --store"
    )
    assert "\n" not in line
    Store(url, readonly=True).close()
    Store(database).close()
    store = Store(url)
    store.put(RUN)
    store.close()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_old_exports_are_read(suffix: str, tmp_path: Path) -> None:
    """The first release's files lack columns, which get their defaults, and nothing else."""
    rows = read_rows(CSV)
    path = tmp_path / f"rows{suffix}"
    old = [column.name for column in columns() if column.since == 1]
    export_rows(rows, path)
    flat = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path, dtype=str)
    flat = flat[old].fillna("") if suffix == ".csv" else flat[old]
    flat.to_parquet(path) if suffix == ".parquet" else flat.to_csv(path, index=False)
    again = read_rows(path)
    pd.testing.assert_frame_equal(again, rows)
    assert list(again["tel"]) == [9, 9]
    assert list(again["output"]) == ["", ""]
    flat = flat.drop(columns="tel")
    flat.to_parquet(path) if suffix == ".parquet" else flat.to_csv(path, index=False)
    with pytest.raises(ExportError, match="expected a column tel, found none"):
        read_rows(path)


def test_a_store_and_its_export_are_the_same_frame(tmp_path: Path) -> None:
    """Values and types, from an old store and from its CSV file."""
    path = tmp_path / "runs.sqlite"
    first_release(path)
    rows = read_rows(path).drop(columns=PROVED)
    pd.testing.assert_frame_equal(rows, read_rows(CSV), check_column_type=False)


def test_integers_of_a_column_with_gaps_are_exact(tmp_path: Path) -> None:
    """Beyond 2**53 floats are not: a gap of 1 would be an optimum; 2**63 - 1 was not read."""
    path = tmp_path / "runs.sqlite"
    store = Store(path)
    values = [(2**53 + 1, 2**53), (None, None), (None, 2**63 - 1)]
    for number, (tel, bound) in enumerate(values):
        record = replace(RUN.record, key=f"{number:064}", seed=number, tel=tel, lower_bound=bound)
        store.put(replace(RUN, record=record))
    store.close()
    frame = read_rows(path)
    found = zip(frame["tel"], frame["lower_bound"], strict=True)
    assert [tuple(None if pd.isna(v) else int(v) for v in pair) for pair in found] == values


def test_the_nightly_of_the_first_release_is_read(tmp_path: Path) -> None:
    """Its rows lack the later columns; a column that it must have is still missed."""
    rows = read_night(ROOT / "reports/nightly/rows.csv")
    old = rows.drop(columns=[name for name in DEFAULTS if name in rows])
    path = tmp_path / "rows.csv"
    old.to_csv(path, index=False)
    again = read_night(path)
    assert list(again.columns) == list(COLUMNS)
    pd.testing.assert_frame_equal(again[list(old.columns)], old)
    old.drop(columns="tel").to_csv(path, index=False)
    with pytest.raises(RowsError, match="expected the column 'tel', found none"):
        read_night(path)


def test_size_of_the_model_and_root_bound_are_in_the_row() -> None:
    """What HiGHS was given, and the first bound that the prices of its relaxation proved."""
    instance = Instance("four", 5, tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3))))
    row = execute(Task(instance, "four", read_method("highs:lp"), time_limit=40)).record
    assert row.model_columns is not None
    assert row.model_rows is not None
    assert row.model_entries is not None
    # Every start column stands in one row of its request and at least one of the memory.
    assert row.model_entries >= 2 * row.model_columns > row.model_rows > 0
    assert row.root_bound == row.lower_bound == 11
    assert row.bound_source.startswith("prices")


def test_what_the_nightly_does_not_commit() -> None:
    """No machine's folders, no command lines, no digests that change with every edit.

    Nor what runs in seconds have besides: there are none among the nightly's.
    """
    apart = {column.name for column in columns()} - set(COLUMNS)
    assert apart == {
        *("key", "memory_limit", "incumbents", "bounds", "output"),
        *("code", "versions", "platform", "command"),
        *("batch_time", "claimed_bound", *METRICS),
        *("own_name", "told", "engine_formulation", "engine_tel", "engine_bound"),
    }
    names = [column.name for column in columns()]
    first = names.index(METRICS[0])
    assert names[first : first + len(METRICS)] == list(METRICS)


def test_the_first_bound_of_prices_is_kept() -> None:
    """What volumes prove is no root bound; what follows the first one does not change it."""
    state = _state(("latencies", 3), ("prices on rounds", 5), ("prices of patterns", 8))
    assert (state.root_bound, state.lower_bound) == (5, 8)
    assert _state(("latencies", 3), ("prices", 3)).root_bound is None


def _state(*bounds: tuple[str, int]) -> RunState:
    state = RunState(Instance("one", 9, (Request(0, 0, 1, 1),)), "search")
    for seconds, (source, value) in enumerate(bounds):
        state.take(BoundProved(seconds=float(seconds), value=value, source=source))
    return state


def _engine(location: str) -> sa.Engine:
    if location.startswith("postgresql://"):
        return sa.create_engine(location.replace("postgresql://", "postgresql+psycopg://"))
    return sa.create_engine(f"sqlite:///{location}")


def _columns(location: str) -> set[str]:
    engine = _engine(location)
    names = {column["name"] for column in sa.inspect(engine).get_columns("runs")}
    engine.dispose()
    return names


def _version(location: str) -> list[tuple[int]]:
    engine = _engine(location)
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT version FROM kvopt_version").fetchall()
    engine.dispose()
    return [tuple(row) for row in found]


def _dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())
