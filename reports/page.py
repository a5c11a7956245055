"""A page of results: a title and an ordered list of parts, written as Markdown or HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from reports.references import Contradiction
from reports.table import Table
from reports.verdict import WORDS, Sentence

if TYPE_CHECKING:  # Both load the drawing: a second.
    from reports.figures.style import Drawing
    from reports.pages.instance import InstancePage

#: A word and an address each.
Links = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """A drawing with its title and what the reader must know to read it."""

    slug: str
    title: str
    note: str
    drawing: Drawing


@dataclass(frozen=True)
class Words:
    """Sentences on the rows, and the meaning of their words; empty for nothing to say."""

    sentences: tuple[Sentence, ...]
    note: str = WORDS


#: Text is Markdown, and stands on pages of Markdown alone.
Part = Table | Figure | Words | str


@dataclass(frozen=True)
class Page:
    """Everything that rows give; the boards come first, then the words, then the evidence.

    ``contradictions`` are what cannot be true: a method or a bound is wrong.  ``origin`` says of
    what the rows are.  ``pages`` are those of instances, which lie on the ``shelf``; ``above`` are
    the pages of the site that the bar links.
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
        """The parts before the words: who is best."""
        return tuple(takewhile(lambda part: not isinstance(part, Words), self.parts))

    @property
    def words(self) -> Words:
        """Return the sentences on the rows."""
        return next(part for part in self.parts if isinstance(part, Words))

    @property
    def shown(self) -> Iterator[Table | Figure]:
        """The tables and figures, in their order."""
        return (part for part in self.parts if isinstance(part, Table | Figure))
