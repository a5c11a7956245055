"""A table as data: what stands in it and how its numbers are written, for Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd

from instances.time_unit import ROUNDS, SECONDS, TimeUnit

#: ``name`` is text from the rows, which may hold anything; ``text`` is our own.  ``nanoseconds``
#: are printed as seconds.
Kind = Literal[
    "name", "text", "count", "share", "ratio", "seconds", "megabytes", "number", "nanoseconds"
]

#: How times are printed, by their unit.
KINDS: dict[TimeUnit, Kind] = {ROUNDS: "count", SECONDS: "nanoseconds"}

MISSING = "–"
#: Title of a column of instances that are named for what happened on them.
WORST_ON = "worst on"
#: Texts up to this many characters are never broken into lines.
LONGEST_LINE = 28


@dataclass(frozen=True)
class Column:
    """One column: its key in the frame, title and kind.

    It sorts by the column ``sort``. ``address`` is the column of links as seen from the page,
    ``spread`` the one of what stands behind a mean after ±.
    """

    key: str
    title: str
    kind: Kind = "text"
    sort: str | None = None
    address: str = ""
    spread: str | None = None

    @property
    def numeric(self) -> bool:
        """Return whether the text is set flush right."""
        return self.kind not in ("name", "text")


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
    def numeric(self) -> bool:
        """Whether it is set flush right."""
        return self.kind not in ("name", "text")

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

    The ``note``, which stands below, is plain text of ours. ``links`` has the page of each instance
    by ``id``, for the column ``instance``; ``left_out`` counts lines of the data that are not here.
    """

    slug: str
    title: str
    note: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    links: dict[str, str] = field(default_factory=dict)
    left_out: int = 0

    def of_solvers(self) -> Table:
        """Return the table by the name that it has where its lines are solvers."""
        return replace(self, slug=f"{self.slug}-solvers", title=f"{self.title}, solvers")

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


def _significant(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


_WRITTEN: dict[Kind, Callable[[Any], str]] = {
    "name": str,
    "text": str,
    "count": lambda value: f"{int(value):,}",
    "share": lambda value: f"{100 * float(value):.2f} %",
    "ratio": lambda value: f"{float(value):.3f}",
    "number": lambda value: f"{float(value):.3f}",
    "nanoseconds": lambda value: f"{float(value) / SECONDS.ticks:,.3f}",
    "seconds": lambda value: _significant(float(value)),
    "megabytes": lambda value: f"{float(value) / 1e6:,.0f}",
}
