"""What a run prints: live progress lines and the aligned summary at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import IO

from runs.exact import Progress

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

    def __call__(self, progress: Progress, improved: bool) -> None:
        """Print a line if something improved or the last line is old."""
        now = time.monotonic()
        if self._quiet or not (improved or now - self._last >= EVERY_SECONDS):
            return
        if not self._header_printed:
            print(
                f"{'seconds':>9}  {'incumbent':>14}  {'bound':>14}  {'gap %':>7}  from",
                file=self._stream,
            )
            self._header_printed = True
        incumbent = "-" if progress.schedule is None else str(progress.schedule.tel)
        gap = "-" if progress.gap is None else f"{100 * progress.gap:.2f}"
        origin = f"{progress.found_by}; {progress.bound_source}" if improved else ""
        print(
            f"{now - self._started:9.1f}  {incumbent:>14}  {progress.lower_bound:>14}"
            f"  {gap:>7}  {origin}".rstrip(),
            file=self._stream,
            flush=True,
        )
        self._last = now


def summary(rows: Sequence[tuple[str, str]]) -> str:
    """Return aligned lines of labels and values."""
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)
