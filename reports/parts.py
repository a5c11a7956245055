"""What a report consists of, before it is written as Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass

from reports.pages.instance import InstancePage
from reports.references import Contradiction
from reports.table import Table
from reports.verdict import Sentence


@dataclass(frozen=True)
class Figure:
    """A figure with its title and what the reader must know to read it."""

    slug: str
    title: str
    note: str
    svg: str


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
        What the rows say, in three sentences.
    parts
        Tables and figures in the order of the page; none is empty.
    pages
        Of the instances that have one.
    """

    title: str
    summary: str
    contradictions: tuple[Contradiction, ...]
    verdict: tuple[Sentence, ...]
    parts: tuple[Table | Figure, ...]
    pages: tuple[InstancePage, ...]
