"""What a sweep shows while it runs: a line that is rewritten, timed lines in a pipe, or nothing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from typing import IO

from kvopt.methods.knowledge import shown_method
from kvopt.runs.record import Record
from kvopt.runs.supervise import Snapshot
from kvopt.runs.task import Finished, Task
from support.progress import REWRITTEN_EVERY_SECONDS, TOLD_FROM_SECONDS, StatusLine
from support.text import WIDTH, printable

#: Seconds between two lines where there is no terminal, after the first.
EVERY_SECONDS = 10.0
#: Runs under way that are named.
MOST_NAMED = 4


def counts(statuses: Counter[str]) -> str:
    """Return the number of runs of each status, the most frequent first."""
    return ", ".join(f"{count} {status}" for status, count in statuses.most_common())


class Display:
    """Counts runs, estimates the rest from how long they have taken, names those under way.

    It is told of every finished run, and by the threads that watch runs of those under way.

    Parameters
    ----------
    total, jobs
        Runs, and how many go side by side.
    """

    def __init__(self, stream: IO[str], total: int, jobs: int, quiet: bool) -> None:
        self._line = StatusLine(stream)
        self._total, self._jobs, self._quiet = total, jobs, quiet
        self._statuses: Counter[str] = Counter()
        self._seconds = 0.0
        #: By what a row has of its task: the limit of a run in a series may differ, and with it
        #: the key.
        self._under_way: dict[tuple[str, str, int], str] = {}
        self._started = time.monotonic()
        self._due = self._started + TOLD_FROM_SECONDS
        self._told = 0
        self._turn = threading.Lock()

    def take(self, task: Task, snapshot: Snapshot) -> None:
        """Take note of what is known so far of a run under way."""
        gap = "" if snapshot.state.gap is None else f", gap {100 * snapshot.state.gap:.1f} %"
        with self._turn:
            self._under_way[task.name, task.method.text, task.seed] = (
                f"{shown_method(task.method.text, task.method.own_name)} on {task.name}{gap}"
            )
            self._show_if_due()

    def advance(self, record: Record) -> None:
        """Take one more run into account."""
        with self._turn:
            self._under_way.pop((record.instance, record.method, record.seed), None)
            self._statuses[record.status] += 1
            self._seconds += record.total_seconds
            self._show_if_due()

    def follow(self, results: Iterable[Finished], keep: Callable[[Finished], object]) -> None:
        """Keep results as they come, and show how far they are; close in the end."""
        try:
            for finished in results:
                keep(finished)
                self.advance(finished.record)
        finally:
            # The runs under way are stopped before anything is said of the end.
            if isinstance(results, Generator):
                results.close()
            self.close()

    @property
    def left(self) -> int:
        """How many runs have not finished."""
        return self._total - self._statuses.total()

    def close(self) -> None:
        """Leave the output as it should stay."""
        if self._told < self._statuses.total():
            self._show()
        self._line.leave()

    def _show_if_due(self) -> None:
        if time.monotonic() >= self._due:
            self._show()

    def _show(self) -> None:
        if self._quiet:
            return
        now = time.monotonic()
        self._due = now + (REWRITTEN_EVERY_SECONDS if self._line.rewrites else EVERY_SECONDS)
        self._told = self._statuses.total()
        text = (
            f"{now - self._started:9.1f} s  {f'{self._told}/{self._total}':>13}  "
            f"{self._rest():>13}  {counts(self._statuses)}{self._named()}"
        )
        self._line.show(printable(text.rstrip(), WIDTH))

    def _named(self) -> str:
        """Return which runs go on and their gaps, the first few; empty before the first."""
        runs = list(self._under_way.values())
        more = len(runs) - MOST_NAMED
        told = "; ".join(runs[:MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
        return f"  now {told}" if told else ""

    def _rest(self) -> str:
        """Return the estimated time to the end, ``0:00:40 left``; nothing before the first run."""
        done = self._statuses.total()
        if not done:
            return ""
        seconds = round(self._seconds / done * self.left / self._jobs)
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"
