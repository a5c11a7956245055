"""Tables as data: their cells, and the text of each number or interval, for all formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd

from instances.time_unit import ROUNDS, SECONDS, TimeUnit

#: ``name`` is text of the rows, ``text`` ours; ``nanoseconds`` print seconds, ``most`` rounds up.
Kind = Literal[
    "name", "text", "count", "share", "seconds", "megabytes", "number", "most", "nanoseconds"
]
_TEXTS = ("name", "text")

#: The kind of a column of times, by their unit.
KINDS: dict[TimeUnit, Kind] = {ROUNDS: "count", SECONDS: "nanoseconds"}

MISSING = "–"
#: Title of a column that names an instance for an event on it.
WORST_ON = "worst on"
#: Texts up to this many characters are never broken into lines.
LONGEST_LINE = 28
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹"


@dataclass(frozen=True)
class Column:
    """One column: its key in the frame, title and kind.

    It sorts by the column ``sort``. ``address`` is a column of links as seen from the page,
    ``spread`` a column of deviations after ±. ``note`` defines the numbers, as a footnote;
    ``above`` is the note of a table that is not the first of its page with it.
    """

    key: str
    title: str
    kind: Kind = "text"
    sort: str | None = None
    address: str = ""
    spread: str | None = None
    note: str = ""
    above: str = ""

    @property
    def numeric(self) -> bool:
        """Return whether the text is set flush right."""
        return self.kind not in _TEXTS


def columns(kind: Kind, **titles: str) -> tuple[Column, ...]:
    """Return columns of one kind, by their keys."""
    return tuple(Column(key, title, kind) for key, title in titles.items())


def time_column(key: str, title: str, unit: TimeUnit) -> Column:
    """Return a column of times, whose title says their unit unless they are rounds."""
    return Column(key, f"{title}{unit.symbol and ','}{unit.symbol}", KINDS[unit])


class Cell(NamedTuple):
    """One cell; ``sort`` is None for text, ``link`` an instance's page, ``address`` any other."""

    text: str
    kind: Kind
    sort: float | None = None
    link: str = ""
    address: str = ""

    @property
    def short(self) -> bool:
        """Return whether the text stands on one line: no name is broken inside a word."""
        return len(self.text) <= LONGEST_LINE

    @property
    def sort_text(self) -> str:
        """Return the sort key as text; nothing comes before every number."""
        return "" if self.sort is None else repr(self.sort)


@dataclass(frozen=True)
class Table:
    """A titled table; ``slug`` names its file and its place in the page.

    The ``note`` below it is plain text of ours. ``links`` has the page of each instance by ``id``,
    for the column ``instance``; ``left_out`` counts lines of the data that are not here.
    """

    slug: str
    title: str
    note: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    links: dict[str, str] = field(default_factory=dict)
    left_out: int = 0

    @property
    def headers(self) -> list[str]:
        """Return the titles of the columns, each with the mark of its footnote."""
        marks = iter(_MARKS)
        return [
            f"{each.title}\N{NO-BREAK SPACE}{next(marks)}" if each.note else each.title
            for each in self.columns
        ]

    @property
    def notes(self) -> list[str]:
        """Return the note and the footnotes, which define the numbers of a column each."""
        defined = [f"{each.title}: {each.note}" for each in self.columns if each.note]
        marked = [f"{mark} {text}" for mark, text in zip(_MARKS, defined, strict=False)]
        return [text for text in (self.note, *marked) if text]

    @property
    def alone(self) -> Table:
        """Return the table with all its footnotes, for a file of its own."""
        shown = tuple(replace(each, note=each.note or each.above) for each in self.columns)
        return replace(self, columns=shown)

    def linked(self, addresses: Mapping[str, Sequence[str]]) -> Table:
        """Return the table with an address for each cell of some columns, empty for none."""
        frame = self.frame.assign(**{f"{key}_address": each for key, each in addresses.items()})
        shown = tuple(
            replace(each, address=f"{each.key}_address") if each.key in addresses else each
            for each in self.columns
        )
        return replace(self, columns=shown, frame=frame)

    def missing(self, most: int) -> int:
        """Return how many lines are not shown if at most so many are."""
        return max(len(self.frame) - most, 0) + self.left_out

    def rows(self, most: int) -> list[tuple[Cell, ...]]:
        """Return the cells of the first lines."""
        return self._cells[:most]

    @cached_property
    def _cells(self) -> list[tuple[Cell, ...]]:
        return list(zip(*map(self._column, self.columns), strict=True))

    def _column(self, column: Column) -> Iterator[Cell]:
        none = [""] * len(self.frame)

        def values(key: str | None) -> list[Any]:
            return list(self.frame[key]) if key else none

        linked = column.key == "instance" and self.links and "id" in self.frame
        links = [self.links.get(each, "") for each in self.frame["id"]] if linked else none
        sorts = values(column.sort or (column.key if column.numeric else ""))
        shown = (values(each) for each in (column.key, column.spread, column.address))
        for value, spread, address, sort, link in zip(*shown, sorts, links, strict=True):
            text = written(value, column.kind)
            if column.spread and pd.notna(spread):
                text += f" ± {written(spread, column.kind)}"
            key = None if isinstance(sort, str) or pd.isna(sort) else float(sort)
            yield Cell(text, column.kind, key, link if link and value else "", address)


def written(value: Any, kind: Kind) -> str:
    """Return a value as it is printed, a dash where there is none."""
    if isinstance(value, str):
        return value or MISSING
    return MISSING if pd.isna(value) else _WRITTEN[kind](value)


_WRITTEN: dict[Kind, Callable[[Any], str]] = {
    "name": str,
    "text": str,
    "count": lambda value: f"{int(value):,}",
    "share": lambda value: f"{100 * float(value):.2f} %",
    "number": lambda value: f"{float(value):.3f}",
    "most": lambda value: _ends(math.nan, float(value), 3)[1],
    "nanoseconds": lambda value: f"{float(value) / SECONDS.ticks:,.3f}",
    "seconds": lambda value: f"{value:.3f}" if abs(value) < 10 else f"{float(value):,.1f}",
    "megabytes": lambda value: f"{float(value) / 1e6:,.0f}",
}


def write_column(write: Callable[..., str], *columns: pd.Series) -> pd.Series:
    """Return the intervals of two columns of ends as texts, by one of the functions below."""
    texts = [write(*values) for values in zip(*columns, strict=True)]
    return pd.Series(texts, index=columns[0].index, dtype=object)


def write_ratio(low: float, high: float, known: bool) -> str:
    """Return ``1.234`` where OPT is known, else ``[1.100, ?]``; empty without any end."""
    if pd.isna(low) and pd.isna(high):
        return ""
    return f"{low:.3f}" if known else "[{}, {}]".format(*_ends(low, high, 3))


def write_share(low: float, high: float) -> str:
    """Return ``1.2 %`` where both ends are written alike, else ``[1.2, ?] %``; empty as above."""
    if pd.isna(low) and pd.isna(high):
        return ""
    least, most = _ends(100 * low, 100 * high, 1)
    return f"{least} %" if least == most else f"[{least}, {most}] %"


def write_end(low: float, high: float, end: Literal[0, 1]) -> str:
    """Return an end of a share, empty if it is unknown."""
    text = _ends(100 * low, 100 * high, 1)[end]
    return "" if text == "?" else f"{text} %"


def _ends(low: float, high: float, digits: int) -> tuple[str, str]:
    """Return both ends, rounded outwards, so that the interval holds; a known value is rounded."""
    known = pd.notna(low) and pd.notna(high) and low == high

    def text(value: float, sign: int) -> str:
        if pd.isna(value):
            return "?"
        scaled = float(value) * 10**digits
        whole = round(scaled) if known else sign * math.floor(sign * scaled + 1e-7)
        return f"{whole / 10**digits:.{digits}f}"

    return text(low, 1), text(high, -1)
