"""What a run prints: live progress lines and the aligned summary at the end."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import IO

from kvopt.methods.knowledge import shown_source
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Snapshot
from support.progress import REWRITTEN_EVERY_SECONDS, TOLD_EVERY_SECONDS, StatusLine
from support.text import wrapped

#: Seconds of compiling from which it is told of.
COMPILING_FROM_SECONDS = 1.0
#: Seconds between two lines of a run in a pipe, where something has improved.
EVERY_SECONDS = 1.0


class ProgressLines:
    """Shows a run in fixed columns: a line that is rewritten, or at most one a second in a pipe."""

    def __init__(self, stream: IO[str], started: float, quiet: bool) -> None:
        self._stream, self._started, self._quiet = stream, started, quiet
        self._line, self._compiling = StatusLine(stream), CompilingLine(stream)
        self._header_printed = False
        self._last, self._told_at = started, -math.inf
        self._shown: tuple[int | None, int | None] = (None, None)

    def __call__(self, snapshot: Snapshot) -> None:
        """Show what has improved, with what came since, or that nothing has for a while."""
        if self._quiet:
            return
        now, state = time.monotonic(), snapshot.state
        if snapshot.compiling:
            self._line.leave()
            self._last = now  # what has its own line
        self._compiling(snapshot)
        tel = None if state.schedule is None else state.schedule.tel
        improved = tel is not None and (tel, state.lower_bound) != self._shown
        at_once = snapshot.ended or now - self._told_at >= self._every(EVERY_SECONDS)
        waited = now - self._last >= self._every(TOLD_EVERY_SECONDS)
        if (improved and at_once) or (waited and not snapshot.ended):
            self._show(state, now, improved)
        if snapshot.ended:
            self._line.leave()

    def _every(self, seconds: float) -> float:
        return REWRITTEN_EVERY_SECONDS if self._line.rewrites else seconds

    def _show(self, state: RunState, now: float, improved: bool) -> None:
        self._compiling.end()
        if not self._header_printed:
            print(
                f"{'seconds':>9}  {'incumbent':>14}  {'bound':>14}  {'gap %':>7}  from",
                file=self._stream,
            )
            self._header_printed = True
        tel = None if state.schedule is None else state.schedule.tel
        unit = state.instance.unit
        incumbent = "-" if tel is None else unit.text(tel)
        bound = "-" if state.lower_bound is None else unit.text(state.lower_bound)
        gap = "-" if state.gap is None else f"{100 * state.gap:.2f}"
        told = tel is not None and (improved or self._line.rewrites)
        origin = f"{state.found_by}; {shown_source(state.bound_source)}" if told else ""
        line = f"{now - self._started:9.1f}  {incumbent:>14}  {bound:>14}  {gap:>7}  {origin}"
        self._line.show(line.rstrip())
        self._last = self._told_at = now
        self._shown = tel, state.lower_bound


class CompilingLine:
    """Tells how far compiling is: in one line that is rewritten, or in one every few seconds."""

    def __init__(self, stream: IO[str]) -> None:
        self._line = StatusLine(stream)
        self._text, self._told_at = "", -math.inf

    def __call__(self, snapshot: Snapshot) -> None:
        """Say how far the compiling of a run is, once it has taken a while."""
        if snapshot.compiling > COMPILING_FROM_SECONDS and snapshot.kernels[1]:
            self.tell(*snapshot.kernels)
        elif not snapshot.compiling:
            self.end()

    def tell(self, done: int, of: int) -> None:
        """Say how many parts of the kernels are compiled, of how many."""
        text = f"{done} of {of} parts are compiled, once on this machine; the clock waits"
        now = time.monotonic()
        late = self._line.rewrites or now - self._told_at >= TOLD_EVERY_SECONDS
        if text == self._text or not late:
            return
        self._line.show(text)
        self._text, self._told_at = text, now

    def end(self) -> None:
        """Leave the line, if there is one."""
        self._line.leave()
        self._text = ""


def summary(rows: Sequence[tuple[str, str]]) -> str:
    """Return aligned lines of labels and values; a long value goes on below its beginning."""
    width = max(len(label) for label, _ in rows)
    below = " " * (width + 2)
    return "\n".join(wrapped(f"{label:<{width}}  {value}", indent=below) for label, value in rows)
