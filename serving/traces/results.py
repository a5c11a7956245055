"""Results of benchmark tools: requests with the times of their tokens, sorted by their start."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from serving.deployments import EngineSettings
from serving.traces.measured import Measured
from serving.traces.numbers import Numbers, nanoseconds
from serving.traces.options import TraceOptions
from serving.traces.reader import Reader, Rows, make_rows
from serving.traces.report import Reason
from serving.traces.stream import TraceStream
from support.text import printable


@dataclass(frozen=True)
class Timed:
    """A request: its row, its lengths as they are written, and nanoseconds.

    These are the start, from whatever the file counts from (None in all rows where it states
    none), and the first and the last token, from the start; None where they have no time.
    """

    row: int
    prompt: Any
    output: Any
    start: int | None
    first: int | None
    last: int | None
    reason: Reason = Reason.NONE


class ResultReader(Reader):
    """Reads a whole file of results; ``start`` is what it calls the start of a request."""

    start: str

    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[Rows]:
        """Yield all rows at once, sorted by start; where one has a first token, all should."""
        requests, settings = self.read(stream, options.run)
        if not requests:
            return
        timed = requests[0].start is not None
        late = sum((b.start or 0) < (a.start or 0) for a, b in pairwise(requests))
        rows = "row starts" if late == 1 else "rows start"
        note = f"{self.start}: {late:,} {rows} before the one above: sorted by start"
        ordered = sorted(requests, key=lambda each: each.start or 0)
        streamed = any(each.first for each in ordered)
        reasons = [each.reason for each in ordered]
        for k, each in enumerate(ordered if streamed else ()):
            untimed = each.first is None or each.last is None or not 0 <= each.first <= each.last
            reasons[k] = reasons[k] or (Reason.NO_TIMES if untimed else Reason.NONE)
        numbers, prompts, outputs, starts, firsts, lasts = (
            [getattr(each, name) for each in ordered]
            for name in ("row", "prompt", "output", "start", "first", "last")
        )
        found = make_rows(numbers, starts if timed else None, prompts, outputs, reasons)
        first, last = (np.array([each or 0 for each in ends], np.int64) for ends in (firsts, lasts))
        yield replace(
            found,
            settings=settings,
            notes=(note,) if late else (),
            measured=Measured(first, last, found.outputs) if streamed else None,
            lacks="" if timed else self.start,
        )

    @abstractmethod
    def read(self, stream: TraceStream, run: int | None) -> tuple[list[Timed], EngineSettings]:
        """Return a run's requests in the file's order, and what it says of the engine."""


def chosen(stream: TraceStream, runs: Sequence[Any], run: int | None, told: Sequence[str]) -> Any:
    """Return one of several runs, from 1, the only one for None; else refuse with what they are."""
    if (run or 1) > len(runs) or (run is None and len(runs) > 1):
        expected = "one run (--run K)" if run is None else f"run {run}"
        listed = ", ".join(f"{k} ({each})" for k, each in enumerate(told, 1))
        stream.refuse(f"expected {expected}, found {len(runs)}: {printable(listed, 400)}")
    return runs[(run or 1) - 1]


def at(record: Any, *keys: str) -> Any:
    """Return what stands below some keys, one in the other; None where there is nothing."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def text_at(record: Any, *keys: str) -> str:
    """Return a text or number below some keys as it is shown; empty where there is none."""
    value = at(record, *keys)
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return printable(str(value), 60) if plain else ""


def time_between(start: int, value: Any, unit: Numbers) -> int | None:
    """Return the nanoseconds from a start to a time that is written; None where it is none."""
    try:
        end = nanoseconds(value, unit.nanoseconds)
    except OverflowError:
        return None
    return None if end is None else end - start
