"""Failures of a sweep: methods that failed, and instances that none could run on."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvopt.run_progress import count_text
from kvopt.runs.row_columns import FAILED
from kvopt.runs.task import Task
from kvopt.sweeps.contradictions import RunSummary
from schedules.evidence import METHOD_FAILED
from support.message_text import one_line


@dataclass(frozen=True)
class FailedMethod:
    """A method that failed on some of its ``runs``."""

    runs: int
    failed: Sequence[RunSummary]

    @property
    def on_all(self) -> bool:
        """Return whether all runs failed."""
        return len(self.failed) == self.runs

    def line(self, output: str = "") -> str:
        """Return one line: the number of runs, the statuses, the first reason and its output."""
        first = self.failed[0]
        share = "all" if self.on_all else f"{len(self.failed)} of {self.runs}"
        statuses = count_text(Counter(run.status for run in self.failed))
        last = one_line(output.strip().rpartition("\n")[2])
        printed = f"; its output ends: {last}" if last and last not in first.detail else ""
        return (
            f"{first.shown} failed on {share} runs ({statuses}), first on {first.instance}, seed "
            f"{first.seed}: {first.detail or first.status}{printed}"
        )


def failures(runs: Iterable[RunSummary], tasks: Sequence[Task]) -> list[FailedMethod]:
    """Return the methods that failed on some run, in the order of the sweep."""
    of_key = {run.key: run for run in runs}
    of_method: dict[str, list[RunSummary]] = {}
    for task in tasks:
        if task.key in of_key and (not task.fault or task.instance is not None):
            of_method.setdefault(task.method.text, []).append(of_key[task.key])
    found = [FailedMethod(len(each), [*filter(_failed, each)]) for each in of_method.values()]
    return [failure for failure in found if failure.failed]


def split_unread(tasks: Iterable[Task]) -> tuple[list[str], list[Task]]:
    """Return one line for every instance that cannot be read, and the tasks of all others."""
    faults, others = {}, []
    for task in tasks:
        if task.fault and task.fault_status == "error" and task.instance is None:
            faults[task.name] = f"{task.fault}; no method ran on it"
        else:
            others.append(task)
    return list(faults.values()), others


def _failed(run: RunSummary) -> bool:
    return run.status in FAILED or METHOD_FAILED in run.detail
