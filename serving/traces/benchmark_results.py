"""Results of benchmark tools: requests with the times of their tokens, sorted by start."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from serving.deployments import RecordedSettings
from serving.traces.exact_times import NumericTimeReader, nanoseconds
from serving.traces.format_reader import FormatReader, TraceRows, make_rows
from serving.traces.trace_options import TraceOptions
from serving.traces.trace_report import SkipReason
from serving.traces.trace_stream import TraceStream
from support.message_text import printable


class TimedRequest(NamedTuple):
    """A request: its row, its lengths as written, and nanoseconds.

    The start counts from any origin, None in all rows of a file without starts.  The first and the
    last token count from the start, None without a time.
    """

    row: int
    prompt: Any
    output: Any
    start: int | None
    first: int | None
    last: int | None
    reason: SkipReason = SkipReason.NONE

    @property
    def untimed(self) -> bool:
        """Check if its tokens have no times in order."""
        return self.first is None or self.last is None or not 0 <= self.first <= self.last


#: The requests of a run in the file's order, and the engine's settings.
RunRows = tuple[list[TimedRequest], RecordedSettings]


class ResultReader(FormatReader):
    """Reads a whole file of results; ``start`` names the start of a request in the file."""

    start: str

    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[TraceRows]:
        """Yield all rows at once, sorted by start; if one has a first token, all should."""
        requests, settings = self.read(stream, options.run)
        if not requests:
            return
        late = sum((b.start or 0) < (a.start or 0) for a, b in pairwise(requests))
        rows = "row starts" if late == 1 else "rows start"
        note = f"{self.start}: {late:,} {rows} before the one above: sorted by start"
        ordered = sorted(requests, key=lambda each: each.start or 0)
        numbers, prompts, outputs, starts, firsts, lasts, reasons = zip(*ordered, strict=True)
        timed, streamed = starts[0] is not None, any(firsts)
        if streamed:
            untimed = SkipReason.NO_TIMES
            reasons = tuple(untimed if x.untimed and not x.reason else x.reason for x in ordered)
        found = make_rows(numbers, starts if timed else None, prompts, outputs, reasons)
        if streamed:
            ends = [np.array([each or 0 for each in row], np.int64) for row in (firsts, lasts)]
            found = replace(found, firsts=ends[0], lasts=ends[1])
        notes = (note,) if late else ()
        yield replace(found, settings=settings, notes=notes, lacks="" if timed else self.start)

    @abstractmethod
    def read(self, stream: TraceStream, run: int | None) -> RunRows:
        """Return the run of a number, or the only one."""


def chosen(stream: TraceStream, runs: Sequence[Any], run: int | None, labels: Sequence[str]) -> Any:
    """Return a run by its number, from 1, or the only run; else refuse with the list of runs."""
    if (run or 1) > len(runs) or (run is None and len(runs) > 1):
        expected = "one run (--run K)" if run is None else f"run {run}"
        listed = ", ".join(f"{k} ({each})" for k, each in enumerate(labels, 1))
        stream.refuse(f"expected {expected}, found {len(runs)}: {printable(listed, 400)}")
    return runs[(run or 1) - 1]


def at(record: Any, *keys: str) -> Any:
    """Return the value below nested keys; None without one."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def text_at(record: Any, *keys: str) -> str:
    """Return the text or number below nested keys as text; empty without one."""
    value = at(record, *keys)
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return printable(str(value), 60) if plain else ""


def time_between(start: int, value: Any, unit: NumericTimeReader) -> int | None:
    """Return the nanoseconds from a start to a written time; None if it is no time."""
    try:
        end = nanoseconds(value, unit.nanoseconds)
    except OverflowError:
        return None
    return None if end is None else end - start
