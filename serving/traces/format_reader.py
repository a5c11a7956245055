"""The reader of a format, and the rows that it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from serving.deployments import UNSTATED, RecordedSettings
from serving.traces.exact_times import Unit, whole
from serving.traces.trace_options import TraceOptions
from serving.traces.trace_report import Ints, MeasuredLatencies, SkipReason
from serving.traces.trace_stream import TraceStream, first_object
from support.message_text import printable


@dataclass(frozen=True)
class TraceRows:
    """A stretch of a trace; every array has one entry a row.

    ``numbers`` are rows of the file or entries of its array, from 1.  ``times`` are nanoseconds
    from any origin, None without arrivals; ``lacks`` then names what would state them.  Lengths
    mean nothing where there is a reason.  ``prefixes`` has the ids of each prompt's blocks, of
    ``block`` tokens each; ``firsts`` and ``lasts`` are measured nanoseconds from the arrival to the
    first and last token.
    """

    numbers: Ints
    times: Ints | None
    prompts: Ints
    outputs: Ints
    reasons: NDArray[np.int8]
    prefixes: NDArray[Any] | None = None
    block: int = 0
    firsts: Ints | None = None
    lasts: Ints | None = None
    settings: RecordedSettings = UNSTATED
    notes: tuple[str, ...] = ()
    lacks: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """The arrays by name."""
        return {name: each for name, each in vars(self).items() if isinstance(each, np.ndarray)}

    @property
    def measured(self) -> MeasuredLatencies | None:
        """The measured latencies, None if the file has none."""
        if self.firsts is None or self.lasts is None:
            return None
        return MeasuredLatencies(self.firsts, self.lasts, self.outputs)

    def take(self, places: Ints | slice) -> TraceRows:
        """Return some of the rows."""
        return replace(self, **{name: each[places] for name, each in self.columns.items()})

    @staticmethod
    def joined(parts: Sequence[TraceRows]) -> TraceRows:
        """Return all rows of stretches of one trace, which state the same columns."""
        columns = parts[-1].columns
        for name in columns:
            columns[name] = np.concatenate([each.columns[name] for each in parts])
        return replace(parts[-1], **columns)


def shared_tokens(prefixes: Sequence[Any], prompts: Sequence[int], block: int) -> int:
    """Return the prompt tokens that repeat the beginning of an earlier prompt, by blocks' ids.

    Blocks, of ``block`` tokens or fewer at the end of a prompt, are the same if their ids and all
    ids before are.  What is no list of integers shares nothing.
    """
    # A beginning is kept as a 64-bit hash of the one that is a block shorter and the id.
    seen: set[int] = set()
    shared = 0
    for ids, prompt in zip(prefixes, prompts, strict=True):
        if not isinstance(ids, Sequence) or any(type(each) is not int for each in ids):
            continue
        beginning, known = 0, 0
        for each in ids:
            beginning = hash((beginning, each))
            known += beginning in seen
            seen.add(beginning)
        shared += min(known * block, prompt)
    return shared


def shared_prefixes(rows: TraceRows) -> list[str]:
    """Return the line of the report, none if no prompt states its blocks."""
    if rows.prefixes is None or all(each is None for each in rows.prefixes):
        return []
    prompts = rows.prompts.tolist()
    shared, total = shared_tokens([*rows.prefixes], prompts, rows.block), sum(prompts)
    share = 100 * shared / total if total else 0.0
    return [
        f"{shared:,} of {total:,} prompt tokens ({share:.1f} %) repeat the beginning of an earlier "
        f"prompt (hash_ids, blocks of {rows.block} tokens): a prefix cache need not prefill or "
        "hold them again, here every request does"
    ]


class FormatReader(ABC):
    """Reads one format.

    ``counts_text``: lengths are counted in text.  ``several_runs``: a file may hold more than one
    run.  ``without``: columns or keys that no file of the format has.
    """

    counts_text = False
    several_runs = False
    without: tuple[str, ...] = ()

    @property
    @abstractmethod
    def expects(self) -> tuple[str, ...]:
        """Columns or keys that each file of the format has."""

    @property
    def units(self) -> str:
        """The unit of its times, empty without times."""
        return ""

    def names(self, head: str) -> set[str]:
        """Return the keys of the first object at the beginning; none of a file of kvopt."""
        found, _ = first_object(head)
        return set() if (found.get("schema") or "").startswith("kvopt.") else set(found)

    def claims(self, head: str) -> bool:
        """Check if a file with this beginning is of the format."""
        found = self.names(head)
        return found >= set(self.expects) and not found & set(self.without)

    @abstractmethod
    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[TraceRows]:
        """Yield the rows of the chosen run in stretches, or raise :class:`TraceError`."""


@dataclass(frozen=True, kw_only=True)
class LengthsReader(FormatReader):
    """Reads lengths (tokens) and arrivals by names; ``also`` sets the format apart."""

    prompt: str
    output: str
    time: str = ""
    unit: Unit | None = None
    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def expects(self) -> tuple[str, ...]:
        """The names that each file has."""
        return (*self.also, *filter(None, [self.time]), self.prompt, self.output)

    @property
    def units(self) -> str:
        """The unit of the times."""
        return f"{self.time}: {self.unit.name}" if self.unit else ""

    def rows_of(
        self, stream: TraceStream, numbers: Sequence[int], columns: Mapping[str, Sequence[Any]]
    ) -> TraceRows:
        """Return rows from columns by name."""
        times = None
        if self.unit:
            times = read_times(stream, numbers, self.time, self.unit, columns[self.time])
        return make_rows(numbers, times, columns[self.prompt], columns[self.output])


def make_rows(
    numbers: Sequence[int],
    times: Sequence[int] | None,
    prompts: Sequence[Any],
    outputs: Sequence[Any],
    reasons: Sequence[SkipReason] | None = None,
) -> TraceRows:
    """Return rows from the file's values; lengths that are no whole numbers get their reason."""
    found = np.zeros(len(numbers), np.int8) if reasons is None else np.array(reasons, np.int8)
    columns = []
    for column in (prompts, outputs):
        lengths = [whole(each) for each in column]
        lost = np.array([each is None for each in lengths], bool)
        found[lost & (found == SkipReason.NONE)] = SkipReason.NOT_A_NUMBER
        columns.append(np.array([each or 0 for each in lengths], np.int64))
    arrivals = None if times is None else np.array(times, np.int64)
    return TraceRows(np.array(numbers, np.int64), arrivals, columns[0], columns[1], found)


def read_times(
    stream: TraceStream, numbers: Sequence[int], name: str, unit: Unit, values: Sequence[Any]
) -> Sequence[int]:
    """Return times in nanoseconds, or refuse the row of the first that is none."""

    def refuse(position: int, expected: str) -> NoReturn:
        found = printable(repr(values[position]), 80)
        stream.refuse(f"{name}: expected {expected}, found {found}", int(numbers[position]))

    return unit.read(values, refuse)
