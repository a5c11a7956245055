"""One declaration of a row, and what follows from it."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from instances import Instance, Request
from kvopt.runs.events import BoundProved
from kvopt.runs.execute import execute
from kvopt.runs.row_columns import PROVED, row_columns
from kvopt.runs.state import RunState
from kvopt.runs.task import FinishedRun
from kvopt.store import Store, StoreError
from kvopt.store.row_files import ExportError, export_rows, read_rows
from reports.nightly.night_rows import COLUMNS
from serving.metrics import METRICS
from tests.kvopt.best_known.registry import FOUR
from tests.kvopt.sweep_tools import in_python, store_runs, task_of
from tests.kvopt.test_store import RUN
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


#: Columns that are declared in one place: on top of the real ones, before anything looks at them.
_MORE = """
import sys
from dataclasses import dataclass, replace
from pathlib import Path
import kvopt.runs.row_columns as declaration
from kvopt.runs.row_columns import Annotated, Found

@dataclass(frozen=True)
class Wider(declaration.Record):
    whole: Found[int] = 0
    real: Found[float] = 1.5
    text: Found[str] = "it's"

declaration.Record = Wider

from kvopt.store import Store
from kvopt.store.row_files import export_rows, read_rows
from reports.nightly.night_rows import COLUMNS, TIMING
from reports.prepared_rows import prepare_rows
from serving.metrics import METRICS
from tests.kvopt.test_store import RUN, named

folder = Path(sys.argv[1])
row = Wider(**vars(RUN.record) | {"whole": 7, "real": 0.5, "text": "x"})
store = Store(folder / "runs.sqlite")
store.put(replace(RUN, record=row))
store.put(replace(RUN, record=Wider(**vars(named("second").record))))
kept = store.rows()
store.close()
for name in ("whole", "real", "text"):
    for file in ("rows.csv", "rows.parquet"):
        export_rows(kept, folder / file)
        again = read_rows(folder / file)
        assert again[name].tolist() == kept[name].tolist(), again[name]
        assert again[name].dtype == kept[name].dtype
    both = {str(getattr(row, name)), str(getattr(Wider, name))}
    assert {*prepare_rows(kept)[name].map(str)} == both
    assert name in COLUMNS and name not in TIMING
    print(sorted(map(str, kept[name])), kept[name].dtype)
"""


def test_a_column_is_declared_in_one_place(tmp_path: Path) -> None:
    """One line, and store, frame, CSV, Parquet, reports and the nightly's rows have the column."""
    text = f"[\"it's\", 'x'] {pd.Series(['x']).dtype}"
    told = ["['0', '7'] int64", "['0.5', '1.5'] float64", text]
    assert in_python(_MORE, tmp_path).splitlines() == told


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_column_that_is_missing(suffix: str, tmp_path: Path) -> None:
    """Exported rows may lack a column that is not committed, which gets its default; no other."""
    path = tmp_path / f"rows{suffix}"
    rows = pd.DataFrame([vars(RUN.record)])
    export_rows(rows.drop(columns=["output", "claimed_bound"]), path)
    again = read_rows(path)
    assert again["output"].tolist() == [""]
    assert again["claimed_bound"].isna().all()
    for name in ("tel", "key"):
        export_rows(rows.drop(columns=name), path)
        with pytest.raises(ExportError, match=f"expected a column {name}, found none"):
            read_rows(path)


def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """One line that names the column, from a reader and from a writer."""
    location = tmp_path / "runs.sqlite"
    Store(location).close()
    with closing(sqlite3.connect(location)) as connection:
        connection.execute("ALTER TABLE runs ADD COLUMN later TEXT")
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"this version of kvopt.* has a column later"):
            Store(location, readonly=readonly)


def test_size_of_the_model_and_root_bound_are_in_the_row() -> None:
    """What HiGHS was given, and the first bound that the prices of its relaxation proved."""
    row = execute(task_of(FOUR, "highs:ilp(relaxed=yes)", time_limit=40)).record
    # Every start column stands in one row of its request and at least one of the memory.
    assert (row.model_entries or 0) >= 2 * (row.model_columns or 0) > (row.model_rows or 0) > 0
    assert row.root_bound == row.lower_bound == 11
    assert row.bound_source.startswith("prices")


def test_what_the_nightly_does_not_commit() -> None:
    """No machine's folders, no command lines, no digests but the sources', nothing in seconds."""
    apart = {column.name for column in row_columns()} - set(COLUMNS)
    assert apart == {
        *("key", "memory_limit", "incumbents", "bounds", "output"),
        *("versions", "platform", "command"),
        *("batch_time", "claimed_bound", *METRICS),
        *("own_name", "told", "called", "engine_formulation", "engine_tel", "engine_bound"),
    }
    names = [column.name for column in row_columns()]
    first = names.index(METRICS[0])
    assert names[first : first + len(METRICS)] == list(METRICS)


def test_the_first_bound_of_prices_is_kept() -> None:
    """What volumes prove is no root bound; what follows the first one does not change it."""
    state = RunState(Instance("one", 9, (Request(0, 0, 1, 1),)), "search")
    bounds = (("latencies", 3), ("prices", 3), ("prices on rounds", 5), ("prices of patterns", 8))
    for source, value in bounds:
        state.take(BoundProved(value=value, source=source))
    assert (state.root_bound, state.lower_bound) == (5, 8)


@pytest.mark.parametrize("name", ["rows.csv", "rows.PARQUET"])
def test_rows_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    """Types, 62 bits, names that look like numbers, formulas or missing values, line breaks."""
    second = FinishedRun(replace(RECORD, key="c" * 64, tel=None, nodes=7))
    store_runs(tmp_path / "runs.sqlite", FinishedRun(RECORD), second)
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
        ("rows.csv", None, "rows.csv"),
    ],
)
def test_no_file_of_rows(tmp_path: Path, name: str, content: bytes | None, reason: str) -> None:
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
