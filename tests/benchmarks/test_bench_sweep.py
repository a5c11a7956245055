"""A sweep's own cost: overhead a run, and a store of 100,000 rows."""

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from instances import Instance, Request
from kvopt.executors.local import run_local
from kvopt.methods.grammar import read_methods
from kvopt.runs.row_columns import Record
from kvopt.runs.task import FinishedRun
from kvopt.store import Store
from kvopt.suites import SuiteSection, file_source
from kvopt.sweeps.contradictions import alarms, run_summaries
from kvopt.sweeps.plan import plan
from schedules import make_schedule
from tests.benchmarks.timing import seconds
from tests.kvopt.sweep_tools import write_small
from tests.reports.synthetic import record

#: A schedule of a hundred requests.
_REQUESTS = tuple(Request(i, 0, 1, 1) for i in range(100))
_SCHEDULE = make_schedule(Instance("hundred", 1000, _REQUESTS), range(100), "svf")
#: Rows put in by one transaction.
_BATCH = 1000


@pytest.mark.parametrize("jobs", [1, 2])
def test_overhead_per_run(jobs: int, benchmark: Any, tmp_path: Path) -> None:
    """What a run takes beyond its method's own time, process and imports included."""
    paths = write_small(tmp_path, 20 if benchmark.enabled else 1)
    sources = tuple(file_source(path) for path in paths)
    tasks = plan([SuiteSection("", sources, read_methods(["svf,a-min"]))])

    def sweep() -> list[Record]:
        return [finished.record for finished in run_local(tasks, jobs)]

    records = benchmark.pedantic(sweep, rounds=1)
    overheads = [record.total_seconds - record.seconds for record in records]
    assert len(records) == len(tasks)
    assert all(record.tel is not None for record in records)
    assert min(overheads) > 0
    benchmark.extra_info["overhead, median s"] = statistics.median(overheads)
    benchmark.extra_info["overhead, largest s"] = max(overheads)
    benchmark.extra_info["until the imports are done, median s"] = statistics.median(
        record.start_seconds for record in records
    )


def test_store_of_many_rows(benchmark: Any, tmp_path: Path) -> None:
    """100,000 rows: put in, read as a table, skipped by a resume, searched for contradictions."""
    count = 100_000 if benchmark.enabled else 500
    store = Store(tmp_path / "runs.sqlite")
    rows = _rows(count)

    def fill() -> None:
        while batch := list(itertools.islice(rows, _BATCH)):
            store.put(*batch)

    benchmark.pedantic(fill, rounds=1)
    benchmark.extra_info["one row by itself, ms"] = 1000 * seconds(lambda: _put_one(store)) / 50
    benchmark.extra_info["rows(), s"] = seconds(store.rows)
    benchmark.extra_info["statuses() of a resume, s"] = seconds(store.statuses)
    benchmark.extra_info["alarms, s"] = seconds(lambda: alarms(run_summaries(store, None)))
    benchmark.extra_info["file, MB"] = (tmp_path / "runs.sqlite").stat().st_size / 1e6
    assert len(store.statuses()) == count
    store.close()


def _put_one(store: Store) -> None:
    for finished in _rows(50):
        store.put(finished)


def _rows(count: int) -> Iterator[FinishedRun]:
    """Yield runs of 500 instances, twenty methods and ten seeds, with short traces."""
    for number in range(count):
        instance, method = number % 500, number // 500 % 20
        tel = 1000 + 7 * instance + method
        row = record(
            instance=f"instance_{instance}",
            family=f"family_{instance % 10}",
            section="all",
            method=f"method_{method}",
            seed=number // 10_000,
            tel=tel,
            lower_bound=900,
            incumbents=[(0.1, 2 * tel), (0.2, tel + 100), (1.0, tel)],
            bounds=[(0.0, 500), (2.0, 900)],
            versions={"python": "3.11.7", "numpy": "2.0.0"},
            command=["evaluate.py", "nightly"],
        )
        yield FinishedRun(row, _SCHEDULE)
