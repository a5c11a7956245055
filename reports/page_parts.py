"""A page of results: a title and an ordered list of parts, written as Markdown or HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from reports.best_references import Contradiction
from reports.table import Table
from reports.verdict_sentences import WORDS, Sentence

if TYPE_CHECKING:  # Both load the drawing: a second.
    from reports.figures.figure_parts import Drawing
    from reports.pages.instance_page import InstancePage

#: A word and an address each.
Links = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ReportFigure:
    """A drawing with its title and its legend in words."""

    slug: str
    title: str
    note: str
    drawing: Drawing


@dataclass(frozen=True)
class PageWords:
    """Sentences on the rows, and the meaning of their words, a line each."""

    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...] = WORDS


#: Text is Markdown, and stands on pages of Markdown alone.
Part = Table | ReportFigure | PageWords | str


@dataclass(frozen=True)
class ReportPage:
    """All parts of a page in their order: the boards first, then the words, then the evidence.

    ``origin`` names commits, days and machines of the rows.  ``pages`` are those of instances,
    which lie on the ``shelf``; the bar links ``above``, pages of the site.
    """

    title: str
    parts: tuple[Part, ...]
    summary: str = ""
    origin: Sentence | None = None
    contradictions: tuple[Contradiction, ...] = ()
    pages: tuple[InstancePage, ...] = ()
    shelf: str = "instances/"
    above: Links = ()

    @property
    def first(self) -> tuple[Part, ...]:
        """The parts before the words: ranks and their picture."""
        return tuple(takewhile(lambda part: not isinstance(part, PageWords), self.parts))

    @property
    def words(self) -> PageWords:
        """Return the sentences on the rows."""
        return next(part for part in self.parts if isinstance(part, PageWords))

    @property
    def shown(self) -> Iterator[Table | ReportFigure]:
        """The tables and figures, in their order."""
        return (part for part in self.parts if isinstance(part, Table | ReportFigure))
