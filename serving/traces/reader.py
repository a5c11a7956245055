"""The reader of a format, and the rows that it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from serving.deployments import UNSTATED, EngineSettings
from serving.traces.measured import Measured
from serving.traces.numbers import Unit, whole
from serving.traces.options import TraceOptions
from serving.traces.report import Reason
from serving.traces.stream import TraceStream, first_object
from support.text import printable

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A stretch of a trace; every list has one entry a row.

    ``numbers`` are rows of the file, from 1, or entries of its array; ``times`` are nanoseconds
    from whatever it counts from, None where it states none, and ``lacks`` is then what would state
    them. Lengths are of no meaning where there is a reason.  ``prefixes`` has the ids of each
    prompt's blocks, of so many tokens as ``block`` says; ``measured``, ``settings`` and ``notes``
    are for the report.
    """

    numbers: Ints
    times: Ints | None
    prompts: Ints
    outputs: Ints
    reasons: NDArray[np.int8]
    prefixes: Sequence[Any] | None = None
    block: int = 0
    measured: Measured | None = None
    settings: EngineSettings = UNSTATED
    notes: tuple[str, ...] = ()
    lacks: str = ""

    def take(self, places: Ints | slice) -> Rows:
        """Return some of the rows."""
        chosen = range(len(self.numbers))[places] if isinstance(places, slice) else places.tolist()
        return replace(
            self,
            numbers=self.numbers[places],
            times=None if self.times is None else self.times[places],
            prompts=self.prompts[places],
            outputs=self.outputs[places],
            reasons=self.reasons[places],
            prefixes=None if self.prefixes is None else [self.prefixes[k] for k in chosen],
            measured=None if self.measured is None else self.measured.take(places),
        )

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """Return all rows of stretches of one trace, which state the same columns."""
        if len(parts) == 1:
            return parts[0]
        timed = [each.times for each in parts if each.times is not None]
        return replace(
            parts[-1],
            numbers=np.concatenate([each.numbers for each in parts]),
            times=np.concatenate(timed) if timed else None,
            prompts=np.concatenate([each.prompts for each in parts]),
            outputs=np.concatenate([each.outputs for each in parts]),
            reasons=np.concatenate([each.reasons for each in parts]),
            prefixes=[ids for each in parts for ids in each.prefixes or ()] or None,
        )


class Reader(ABC):
    """Reads one format.

    ``counts_text`` says whether lengths are counted in text, ``several_runs`` whether a file may
    hold more than one run; ``without`` are columns or keys that no file of the format has.
    """

    counts_text = False
    several_runs = False
    without: tuple[str, ...] = ()

    @property
    @abstractmethod
    def expects(self) -> tuple[str, ...]:
        """Columns or keys by which the format is known, all of them."""

    @property
    def units(self) -> str:
        """The unit of its times; empty where it has none."""
        return ""

    def names(self, head: str) -> set[str]:
        """Return the columns or keys that a file's beginning shows, as far as it can tell.

        These are the keys of its first object; none where it is no JSON, or a file of kvopt.
        """
        found, _ = first_object(head)
        return set() if (found.get("schema") or "").startswith("kvopt.") else set(found)

    def claims(self, head: str) -> bool:
        """Tell whether a file with this beginning is of the format."""
        found = self.names(head)
        return found >= set(self.expects) and not found & set(self.without)

    @abstractmethod
    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[Rows]:
        """Yield the rows in the file's order, a stretch at a time, of the run that is chosen.

        Raises :class:`TraceError` if the file is not of the format; a length that is none is a
        reason.
        """


@dataclass(frozen=True, kw_only=True)
class LengthsReader(Reader):
    """Reads lengths (tokens), and arrivals of a unit or none, by the names of columns or keys.

    By the names ``also`` the format is told from others.
    """

    prompt: str
    output: str
    time: str = ""
    unit: Unit | None = None
    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def expects(self) -> tuple[str, ...]:
        """The names by which the format is known."""
        return (*self.also, *filter(None, [self.time]), self.prompt, self.output)

    @property
    def units(self) -> str:
        """The unit of the times."""
        return f"{self.time}: {self.unit.name}" if self.unit else ""

    def rows_of(
        self, stream: TraceStream, numbers: Sequence[int], columns: Mapping[str, Sequence[Any]]
    ) -> Rows:
        """Return rows from columns by name."""
        times = None
        if self.unit:
            times = read_times(stream, numbers, self.time, self.unit, columns[self.time])
        return make_rows(numbers, times, columns[self.prompt], columns[self.output])


def make_rows(
    numbers: Sequence[int] | range,
    times: Sequence[int] | None,
    prompts: Sequence[Any],
    outputs: Sequence[Any],
    reasons: Sequence[Reason] | None = None,
) -> Rows:
    """Return rows from what a file states; lengths that are no whole numbers get their reason."""
    found = np.zeros(len(numbers), np.int8) if reasons is None else np.array(reasons, np.int8)
    columns = []
    for column in (prompts, outputs):
        lengths = [whole(each) for each in column]
        lost = np.array([each is None for each in lengths], bool)
        found[lost & (found == Reason.NONE)] = Reason.NOT_A_NUMBER
        columns.append(np.array([each or 0 for each in lengths], np.int64))
    return Rows(
        numbers=np.array(numbers, np.int64),
        times=None if times is None else np.array(times, np.int64),
        prompts=columns[0],
        outputs=columns[1],
        reasons=found,
    )


def read_times(
    stream: TraceStream, numbers: Sequence[int], name: str, unit: Unit, values: Sequence[Any]
) -> Sequence[int]:
    """Return times in nanoseconds, or refuse the row of the first that is none."""

    def refuse(position: int, expected: str) -> NoReturn:
        found = printable(repr(values[position]), 80)
        stream.refuse(f"{name}: expected {expected}, found {found}", int(numbers[position]))

    return unit.read(values, refuse)
