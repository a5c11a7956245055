"""Progress of a run and of a sweep, for a terminal, a pipe and a function of the caller."""

import math
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import IO, Any

from kvopt.methods.method_names import shown_method, shown_source
from kvopt.runs.row_columns import Record
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Listener, RunSnapshot
from kvopt.runs.task import FinishedRun, Task
from support.progress import SHOWN_FROM_SECONDS, bar

#: Seconds of compiling from which it is shown.
COMPILING_FROM_SECONDS = 1.0
#: Seconds between two lines of a run: on a terminal, elsewhere, and there without news.
TERMINAL_SECONDS, PIPE_SECONDS, WAITING_SECONDS = 0.1, 1.0, 5.0
#: Runs under way that a sweep names.
MOST_NAMED = 4


class RewrittenLine:
    """A line that a terminal rewrites; elsewhere each text has a line."""

    def __init__(self, stream: IO[str]) -> None:
        self.rewrites = stream.isatty()
        self._stream = stream
        self._bar: Any = None

    def show(self, text: str) -> None:
        """Show a text; a terminal cuts it to one line."""
        if not self.rewrites:
            print(text, file=self._stream, flush=True)
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        if self._bar is None:
            self._bar = bar(self._stream, bar_format="{desc}", desc=text)
        else:
            self._bar.set_description_str(text)

    def leave(self) -> None:
        """Keep the last text; the next one has a new line."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


class ProgressLines:
    """Shows a run in fixed columns: a line that is rewritten, or at most one a second in a pipe."""

    def __init__(self, stream: IO[str], started: float, quiet: bool) -> None:
        self._stream, self._started, self._quiet = stream, started, quiet
        self._line, self._compiling = RewrittenLine(stream), CompilingLine(stream)
        self._header_printed = False
        self._last, self._shown_at = started, -math.inf
        self._shown: tuple[int | None, int | None] = (None, None)

    def __call__(self, snapshot: RunSnapshot) -> None:
        """Show improvements, merged since the last line, or that nothing has come for a while."""
        if self._quiet:
            return
        now, state = time.monotonic(), snapshot.state
        if snapshot.compiling:
            self._line.leave()
            self._last = now  # compiling has a separate line
        self._compiling(snapshot)
        tel = _tel(state)
        improved = tel is not None and (tel, state.lower_bound) != self._shown
        at_once = snapshot.ended or now - self._shown_at >= self._every(PIPE_SECONDS)
        waited = now - self._last >= self._every(WAITING_SECONDS)
        if (improved and at_once) or (waited and not snapshot.ended):
            self._show(state, now, improved)
        if snapshot.ended:
            self._line.leave()

    def _every(self, seconds: float) -> float:
        return TERMINAL_SECONDS if self._line.rewrites else seconds

    def _show(self, state: RunState, now: float, improved: bool) -> None:
        self._compiling.end()
        columns = "{:>9}  {:>14}  {:>14}  {:>7}  {}"
        if not self._header_printed:
            header = columns.format("seconds", "incumbent", "bound", "gap %", "from")
            print(header, file=self._stream)
            self._header_printed = True
        tel, unit = _tel(state), state.instance.unit
        incumbent = "-" if tel is None else unit.text(tel)
        bound = "-" if state.lower_bound is None else unit.text(state.lower_bound)
        gap = "-" if state.gap is None else f"{100 * state.gap:.2f}"
        named = tel is not None and (improved or self._line.rewrites)
        origin = f"{state.found_by}; {shown_source(state.bound_source)}" if named else ""
        seconds = f"{now - self._started:.1f}"
        self._line.show(columns.format(seconds, incumbent, bound, gap, origin).rstrip())
        self._last = self._shown_at = now
        self._shown = tel, state.lower_bound


def _tel(state: RunState) -> int | None:
    return None if state.schedule is None else state.schedule.tel


class CompilingLine:
    """Shows how far compiling is: a line that is rewritten, or one every few seconds."""

    def __init__(self, stream: IO[str]) -> None:
        self._line = RewrittenLine(stream)
        self._text, self._shown_at = "", -math.inf

    def __call__(self, snapshot: RunSnapshot) -> None:
        """Show how far the compiling of a run is, once it has taken a while."""
        if snapshot.compiling > COMPILING_FROM_SECONDS and snapshot.kernels[1]:
            self.show(*snapshot.kernels)
        elif not snapshot.compiling:
            self.end()

    def show(self, done: int, of: int) -> None:
        """Show the number of compiled parts of the kernels, and of all."""
        text = f"{done} of {of} parts are compiled, once on this machine; the clock waits"
        late = self._line.rewrites or time.monotonic() - self._shown_at >= WAITING_SECONDS
        if text != self._text and late:
            self._line.show(text)
            self._text, self._shown_at = text, time.monotonic()

    def end(self) -> None:
        """Leave the line, if there is one."""
        self._line.leave()
        self._text = ""


def count_text(statuses: Counter[str]) -> str:
    """Return the number of runs of each status, the most frequent first."""
    return ", ".join(f"{count} {status}" for status, count in statuses.most_common())


class SweepDisplay:
    """Counts the runs of a sweep and names those under way, on a terminal from two seconds on."""

    def __init__(self, stream: IO[str], total: int, quiet: bool) -> None:
        self._total = total
        self._statuses: Counter[str] = Counter()
        # By the fields that a row shares with its task: in a series the limit and the key differ.
        self._under_way: dict[tuple[str, str, int], str] = {}
        self._turn = threading.Lock()
        self._bar: Any = None
        if not quiet and stream.isatty():
            times = {"delay": SHOWN_FROM_SECONDS, "mininterval": TERMINAL_SECONDS, "miniters": 0}
            self._bar = bar(stream, desc="runs", total=total, **times)

    def take(self, task: Task, snapshot: RunSnapshot) -> None:
        """Note the state of a run under way."""
        gap = "" if snapshot.state.gap is None else f", gap {100 * snapshot.state.gap:.1f} %"
        with self._turn:
            self._under_way[task.name, task.method.text, task.seed] = (
                f"{shown_method(task.method.text, task.method.own_name)} on {task.name}{gap}"
            )
            self._show()

    def advance(self, record: Record) -> None:
        """Count a run that has ended."""
        with self._turn:
            self._under_way.pop((record.instance, record.method, record.seed), None)
            self._statuses[record.status] += 1
            self._show()

    def follow(self, results: Iterable[FinishedRun], keep: Callable[[FinishedRun], object]) -> None:
        """Keep results as they come, and show how far they are."""
        try:
            for finished in results:
                keep(finished)
                self.advance(finished.record)
        finally:
            # The runs under way are stopped before the last line is shown.
            if isinstance(results, Generator):
                results.close()
            self.close()

    @property
    def left(self) -> int:
        """Return the number of runs that have not finished."""
        return self._total - self._statuses.total()

    def close(self) -> None:
        """Leave the last line."""
        if self._bar is not None:
            self._bar.close()

    def _show(self) -> None:
        if self._bar is None:
            return
        runs = list(self._under_way.values())
        more = [f"{len(runs) - MOST_NAMED} more"] if len(runs) > MOST_NAMED else []
        now = "; ".join([*runs[:MOST_NAMED], *more])
        self._bar.set_postfix_str(
            count_text(self._statuses) + (f"  now {now}" if now else ""), refresh=False
        )
        self._bar.update(self._statuses.total() - self._bar.n)


@dataclass(frozen=True)
class Progress:
    """A run so far: seconds since the call, TEL and bound (rounds), gap, compiled kernels."""

    seconds: float
    tel: int | None
    bound: int | None
    gap: float | None
    kernels: tuple[int, int] = (0, 0)


def listener(progress: bool | Callable[[Progress], object], stop: threading.Event) -> Listener:
    """Return the listener of a run: lines, a function of the caller, or compiling alone."""
    if callable(progress):
        return ProgressCalls(progress, stop)
    if progress:
        return ProgressLines(sys.stdout, time.monotonic(), quiet=False)
    return CompilingLine(sys.stderr)


@dataclass
class ProgressCalls:
    """Calls a function at every improvement and kernel; its exception is kept as ``error``."""

    function: Callable[[Progress], object]
    stop: threading.Event
    error: Exception | None = None
    _started: float = field(default_factory=time.monotonic)
    _last: tuple[int | None, int | None, tuple[int, int]] = (None, None, (0, 0))

    def __call__(self, snapshot: RunSnapshot) -> None:
        """Call the function if anything has improved."""
        state = snapshot.state
        now = _tel(state), state.lower_bound, snapshot.kernels
        if now == self._last or self.error is not None:
            return
        self._last = now
        seconds = time.monotonic() - self._started
        try:
            self.function(Progress(seconds, *now[:2], state.gap, snapshot.kernels))
        except Exception as error:
            self.error = error
            self.stop.set()
