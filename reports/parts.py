"""What a report consists of, before it is written as Markdown and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.figures.style import Drawing
from reports.pages.instance import InstancePage
from reports.references import Contradiction
from reports.table import Table
from reports.verdict import WORDS, Sentence

#: A word and an address each.
Links = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """A figure with its title and what the reader must know to read it.

    Attributes
    ----------
    drawing
        With what stands under the pointer.
    links
        The page of each instance by ``id``, as in :class:`reports.table.Table`.
    """

    slug: str
    title: str
    note: str
    drawing: Drawing
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return self.drawing.svg


@dataclass(frozen=True)
class Report:
    """Everything that the rows give.

    Attributes
    ----------
    summary
        One sentence with the counts.
    contradictions
        What cannot be true; not empty means that a method or a bound is wrong.
    verdict
        What the rows say, in sentences.
    parts
        Tables and figures in the order of the page; none is empty.
    lead
        How many of the parts stand before the verdict.
    pages
        Of the instances that have one.
    words
        What the words of the verdict mean; empty for nothing to say.
    origin
        Of what the rows are: commit, day, machine, versions, hours; None for nothing to say.
    shelf
        Where the pages of instances lie, seen from the page.
    above
        The pages of its site that its bar links: a word and an address each.
    """

    title: str
    summary: str
    contradictions: tuple[Contradiction, ...]
    verdict: tuple[Sentence, ...]
    parts: tuple[Table | Figure, ...]
    pages: tuple[InstancePage, ...]
    words: str = WORDS
    origin: Sentence | None = None
    shelf: str = "instances/"
    above: Links = ()
    lead: int = 1
