"""What a run prints: live progress lines and the aligned summary at the end."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import IO

from instances.batch_time import NANOSECONDS
from kvopt.running.supervise import Look

#: Seconds of compiling from which it is told of, and between two lines where none is rewritten.
TOLD_FROM_SECONDS = 1.0
TOLD_EVERY_SECONDS = 5.0
#: Without an improvement a line is printed after this many seconds.
EVERY_SECONDS = 5.0


class ProgressLines:
    """Prints one line per improvement and one every few seconds, in fixed columns."""

    def __init__(self, stream: IO[str], started: float, quiet: bool) -> None:
        self._stream = stream
        self._started = started
        self._quiet = quiet
        self._last = started
        self._header_printed = False
        self._compiling = CompilingLine(stream)
        self._shown: tuple[int | None, int | None] = (None, None)

    def __call__(self, look: Look) -> None:
        """Print a line if schedule or bound have improved or the last line is old."""
        now = time.monotonic()
        state = look.state
        if not self._quiet:
            self._compiling(look)
        tel = None if state.schedule is None else state.schedule.tel
        improved = tel is not None and (tel, state.lower_bound) != self._shown
        if look.compiling:
            self._last = now  # what has its own line
        waited = now - self._last >= EVERY_SECONDS
        if self._quiet or not (improved or waited):
            return
        if not self._header_printed:
            print(
                f"{'seconds':>9}  {'incumbent':>14}  {'bound':>14}  {'gap %':>7}  from",
                file=self._stream,
            )
            self._header_printed = True
        incumbent = "-" if tel is None else _shown(tel, state.in_seconds)
        bound = "-" if state.lower_bound is None else _shown(state.lower_bound, state.in_seconds)
        gap = "-" if state.gap is None else f"{100 * state.gap:.2f}"
        origin = f"{state.found_by}; {state.bound_source}" if improved else ""
        line = f"{now - self._started:9.1f}  {incumbent:>14}  {bound:>14}  {gap:>7}  {origin}"
        print(line.rstrip(), file=self._stream, flush=True)
        self._last = now
        self._shown = (tel, state.lower_bound)


class CompilingLine:
    """Tells how far compiling is: in one line that is rewritten, or in one every few seconds."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._rewrites = stream, stream.isatty()
        self._text, self._told_at = "", -math.inf

    def __call__(self, look: Look) -> None:
        """Say how far the compiling of a run is, once it has taken a while."""
        if look.compiling > TOLD_FROM_SECONDS and look.kernels[1]:
            self.tell(*look.kernels)
        elif not look.compiling:
            self.end()

    def tell(self, done: int, of: int) -> None:
        """Say how many kernels are there, of how many."""
        text = f"compiling {done} of {of} kernels, once on this machine; the clock waits"
        now = time.monotonic()
        late = self._rewrites or now - self._told_at >= TOLD_EVERY_SECONDS
        if text == self._text or not late:
            return
        start, end = ("\r", "") if self._rewrites else ("", "\n")
        print(start + text, file=self._stream, flush=True, end=end)
        self._text, self._told_at = text, now

    def end(self) -> None:
        """Leave the line, if there is one."""
        if self._rewrites and self._text:
            print(file=self._stream, flush=True)
        self._text = ""


def seconds_of(nanoseconds: int) -> str:
    """Return nanoseconds as seconds with milliseconds."""
    return f"{nanoseconds / NANOSECONDS:.3f}"


def _shown(value: int, in_seconds: bool) -> str:
    return f"{seconds_of(value)} s" if in_seconds else str(value)


def summary(rows: Sequence[tuple[str, str]]) -> str:
    """Return aligned lines of labels and values."""
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)
