"""What a sweep shows while it runs: a bar on a terminal, timed lines elsewhere, or nothing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import IO, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from instances.progress import TOLD_FROM_SECONDS
from kvopt.methods.knowledge import shown_method
from kvopt.running.record import Record
from kvopt.running.supervise import Snapshot
from kvopt.running.task import Task

#: Seconds between two lines where there is no terminal, after the first.
EVERY_SECONDS = 10.0
#: Runs under way that are named.
MOST_NAMED = 4


class Display(Protocol):
    """Is told of every finished run, and by the threads that watch runs of those under way."""

    def take(self, task: Task, snapshot: Snapshot) -> None:
        """Take note of what is known so far of a run under way."""

    def advance(self, record: Record) -> None:
        """Take one more run into account."""

    def close(self) -> None:
        """Leave the output as it should stay."""


def display(stream: IO[str], total: int, jobs: int, quiet: bool) -> Display:
    """Return the display that suits the stream; ``jobs`` is how many runs go side by side."""
    if quiet or not total:
        return _Silent()
    if stream.isatty():
        return _Bar(stream, total, jobs)
    return _Lines(stream, total, jobs)


def counts(statuses: Counter[str]) -> str:
    """Return the number of runs of each status, the most frequent first."""
    return ", ".join(f"{count} {status}" for status, count in statuses.most_common())


class _Silent:
    def take(self, task: Task, snapshot: Snapshot) -> None:
        del task, snapshot

    def advance(self, record: Record) -> None:
        del record

    def close(self) -> None:
        pass


class _Tally:
    """Counts runs, estimates the rest from how long they have taken, names those under way."""

    def __init__(self, total: int, jobs: int) -> None:
        self.total = total
        self.statuses: Counter[str] = Counter()
        self._jobs = jobs
        self._seconds = 0.0
        self._under_way: dict[str, str] = {}

    def take(self, task: Task, snapshot: Snapshot) -> None:
        gap = "" if snapshot.state.gap is None else f", gap {100 * snapshot.state.gap:.1f} %"
        name = shown_method(task.method.text)
        self._under_way[task.key] = f"{name} on {task.name}{gap}"

    def under_way(self) -> str:
        """Return which runs go on and their gaps, the first few; empty before the first."""
        # A copy: other threads put in what they watch.
        runs = list(self._under_way.values())
        more = len(runs) - MOST_NAMED
        return "; ".join(runs[:MOST_NAMED]) + (f"; {more} more" if more > 0 else "")

    def add(self, record: Record) -> None:
        self._under_way.pop(record.key, None)
        self.statuses[record.status] += 1
        self._seconds += record.total_seconds

    @property
    def done(self) -> int:
        return self.statuses.total()

    def rest(self) -> str:
        """Return the estimated time to the end as h:mm:ss."""
        if not self.done:
            return "?"
        seconds = round(self._seconds / self.done * (self.total - self.done) / self._jobs)
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


class _Lines:
    def __init__(self, stream: IO[str], total: int, jobs: int) -> None:
        self._stream = stream
        self._tally = _Tally(total, jobs)
        self._started = time.monotonic()
        self._due = self._started + TOLD_FROM_SECONDS
        self._told = 0
        self._turn = threading.Lock()

    def take(self, task: Task, snapshot: Snapshot) -> None:
        with self._turn:
            self._tally.take(task, snapshot)
            if time.monotonic() >= self._due:
                self._print()

    def advance(self, record: Record) -> None:
        with self._turn:
            self._tally.add(record)
            if time.monotonic() >= self._due:
                self._print()

    def close(self) -> None:
        if self._told < self._tally.done:
            self._print()

    def _print(self) -> None:
        now = time.monotonic()
        self._due = now + EVERY_SECONDS
        self._told = self._tally.done
        done = f"{self._tally.done}/{self._tally.total}"
        line = (
            f"{now - self._started:9.1f} s  {done:>13}  rest about {self._tally.rest():>8}"
            f"  {counts(self._tally.statuses)}"
        )
        if runs := self._tally.under_way():
            line += f"  now {runs}"
        print(line.rstrip(), file=self._stream, flush=True)


class _Bar:
    def __init__(self, stream: IO[str], total: int, jobs: int) -> None:
        self._tally = _Tally(total, jobs)
        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn(
                "rest about {task.fields[rest]}  {task.fields[statuses]}  {task.fields[now]}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis"),
            ),
            console=Console(file=stream),
        )
        self._row = self._progress.add_task("", total=total, rest="?", statuses="", now="")
        self._progress.start()

    def take(self, task: Task, snapshot: Snapshot) -> None:
        self._tally.take(task, snapshot)
        self._progress.update(self._row, now=self._tally.under_way())

    def advance(self, record: Record) -> None:
        self._tally.add(record)
        self._progress.update(
            self._row,
            advance=1,
            rest=self._tally.rest(),
            statuses=counts(self._tally.statuses),
        )

    def close(self) -> None:
        self._progress.stop()
