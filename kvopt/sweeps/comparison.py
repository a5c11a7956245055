"""Comparison of methods on instances as one table, without a command line."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from instances import Instance
from instances.batch_time import BatchTime
from kvopt.best_known import known_values
from kvopt.executors.local import run_local
from kvopt.methods.fingerprint import unread_neighbours
from kvopt.methods.grammar import read_methods
from kvopt.methods.method_names import shown_method
from kvopt.run_progress import SweepDisplay
from kvopt.runs.task import Task
from kvopt.store import Store
from kvopt.store.location import store_files
from kvopt.store.proved_bounds import believed_rows, judge_rows
from kvopt.suites import InstanceSource, SuiteSection, read_source
from kvopt.sweeps.contradictions import RunSummary, alarms, run_summaries
from kvopt.sweeps.plan import plan
from kvopt.sweeps.sweep_inputs import InputError, Wishes, read_inputs
from schedules.evidence import bounds_hold
from schedules.gap import gaps
from serving.metrics import METRICS
from support.output_checks import written_paths

if TYPE_CHECKING:
    from collections.abc import Iterator


def comparison(
    instances: Sequence[Instance | str | Path],
    methods: Sequence[str],
    *,
    limits: Mapping[str, Any],
    jobs: int,
    batch_time: BatchTime | None,
    store: str | Path | None,
    progress: bool,
) -> pd.DataFrame:
    """Run the missing runs, and return a table; parameters as in :func:`kvopt.compare`.

    One row a run: ``instance``, ``method``, ``seed``, ``status``, ``tel`` and ``bound`` (rounds, or
    nanoseconds), ``gap`` (where the bound holds for the schedule), ``best`` and ``best_bound`` (of
    these runs and the registry), ``ratio_low`` and ``ratio_high`` (around the ratio to the
    optimum), ``seconds`` and ``detail`` (the fault).  Failed runs and unreadable files are rows
    too.  In seconds there are ``batch_time`` and the serving metrics (docs/metrics.md).

    Examples
    --------
    >>> table = kvopt.compare(["tiny_handover", "tiny_two_bursts"], ["svf", "highs"])
    >>> table[["instance", "method", "tel", "bound", "ratio_low"]]
              instance method  tel  bound  ratio_low
    0    tiny_handover    svf    9      9        1.0
    1    tiny_handover  highs    9      9        1.0
    2  tiny_two_bursts    svf   22     15        1.0
    3  tiny_two_bursts  highs   22     22        1.0
    """
    section = SuiteSection(
        name="",
        sources=tuple(source for each in instances for source in _sources(each)),
        methods=read_methods(methods),
        batch_time=batch_time,
        outputs=written_paths(store_files(store) if store else ()),
        **limits,
    )
    if not section.sources:
        raise InputError("expected an instance, found none")
    tasks = plan([section])
    for line in unread_neighbours(section.methods, section.outputs):
        warnings.warn(line, stacklevel=3)
    if not tasks:
        raise InputError("expected a method, found none")
    with run_sweep(tasks, store, jobs, progress) as ran:
        if ran.left:
            line = f"interrupted: {ran.left} of {len(tasks)} runs are missing"
            warnings.warn(line, stacklevel=3)
        rows = judge_rows(ran.rows.reset_index(), ran.store).set_index("key")
    for line in alarms(list(ran.shown.values())):
        warnings.warn(f"A METHOD IS WRONG: {line}", stacklevel=3)
    return _table(rows, ran.shown)


@dataclass(frozen=True)
class StoredRuns:
    """Stored runs: their rows and summaries by key, and the number that Ctrl-C left undone."""

    store: Store
    rows: pd.DataFrame
    shown: dict[str, RunSummary]
    left: int


@contextmanager
def run_sweep(
    tasks: Sequence[Task], location: str | Path | None, jobs: int, progress: bool
) -> Generator[StoredRuns, None, None]:
    """Run the runs that a store lacks, and hold it open; None means a temporary store."""
    with (
        tempfile.TemporaryDirectory(prefix="kvopt-") as folder,
        closing(Store(Path(folder) / "runs.sqlite" if location is None else location)) as store,
    ):
        stored = store.statuses()
        todo = [task for task in tasks if (task.key, task.code) not in stored]
        display = SweepDisplay(sys.stdout, len(todo), quiet=not progress)
        with suppress(KeyboardInterrupt):
            keep = partial(store.put, tell=partial(print, file=sys.stderr))
            display.follow(run_local(todo, jobs, display.take), keep)
        keys = [task.key for task in tasks]
        shown = {run.key: run for run in run_summaries(store, keys)}
        rows = store.rows(keys).set_index("key").reindex([key for key in keys if key in shown])
        yield StoredRuns(store, rows, shown, display.left)


def _sources(instance: Instance | str | Path) -> Iterator[InstanceSource]:
    if isinstance(instance, Instance):
        yield read_source(instance)
        return
    for section in read_inputs([str(instance)], Wishes()):
        yield from section.sources


def _table(rows: pd.DataFrame, shown: dict[str, RunSummary]) -> pd.DataFrame:
    tel, bound = rows["tel"].astype("Int64"), rows["lower_bound"].astype("Int64")
    upper = tel.astype("Float64")
    kept = pd.Series([shown[key].keeps_tokens for key in rows.index], rows.index, dtype=bool)
    covered = pd.Series(map(bounds_hold, rows["detail"], kept), rows.index, dtype=bool)
    # The TEL of a schedule that keeps tokens is no UB.
    best = _with_registry(rows, tel.where(~kept), "upper_bound").min(axis=1).astype("Int64")
    believed = bound.where(believed_rows(rows))
    lowers = _with_registry(rows, believed, "lower_bound")
    most = lowers.max(axis=1).astype("Int64")
    # No conclusion where a bound exceeds a schedule.
    sure, true = most.le(best).fillna(True), bound.le(best).fillna(True)
    table = pd.DataFrame(
        {
            "instance": rows["instance"],
            "method": list(map(shown_method, rows["method"], rows["own_name"])),
            "seed": rows["seed"],
            "status": rows["status"].where(true, "error"),
            "tel": tel,
            "bound": believed.where(true),
            "gap": gaps(tel, believed).where(covered & true),
            "best": best,
            "best_bound": most.where(sure),
            "ratio_low": (upper / best.where(best > 0).astype("Float64")).where(sure),
            "ratio_high": (upper / most.where(most > 0).astype("Float64")).where(sure),
            "seconds": rows["seconds"],
            "detail": rows["detail"],
        }
    )
    if rows["batch_time"].ne("").any():
        table = table.join(rows[["batch_time", *METRICS]])
    return table.reset_index(drop=True)


def _with_registry(rows: pd.DataFrame, values: pd.Series, side: str) -> pd.DataFrame:
    """Return for each row the least and the greatest value of its instance, and the registry's."""
    in_rounds = rows["batch_time"].eq("")
    of_instance = values.groupby([rows["instance_sha256"], rows["batch_time"]])
    known = {sha: entry[side] for sha, entry in known_values().items()}
    best = pd.Series(map(known.get, rows["instance_sha256"]), rows.index, "Int64").where(in_rounds)
    least, most = of_instance.transform("min"), of_instance.transform("max")
    return pd.DataFrame({"least": least, "most": most, "registry": best})
