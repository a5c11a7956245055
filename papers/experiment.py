"""A page as data: an experiment of a paper, its settings, and what it found."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from kvopt.suites import Suite, read_suite
from papers.experiment_rows import planned_runs
from papers.span import Span, Verdict, judge
from reports.table import Table

SUITES = Path(__file__).parent / "suites"

#: A reproduction runs what the paper states; a calibration has a setting that was chosen so that
#: one of the paper's figures is met, and shows nothing about that figure.
Kind = Literal["reproduction", "calibration", "other reading", "other settings"]
#: Their findings count; those of the others are shown only.
COUNTED: tuple[Kind, ...] = ("reproduction", "calibration")


def either(reason: str) -> dict[Verdict, str]:
    """Return one reason for both verdicts that a figure may have if a finding does not come out."""
    return {"not reproduced": reason, "undecided": reason}


@dataclass(frozen=True)
class Finding:
    """One finding of a paper (``claim``, in our words), and the rule that decides on it.

    ``paper`` is the figure as it is printed, ``figure`` gives ours from the rows of the part (None
    where they do not suffice), and it must be within ``holds``. Every verdict but "reproduced"
    needs one of the ``reasons``. ``fitted``: a setting was chosen by this very figure, which is
    shown and not counted.
    """

    claim: str
    paper: str
    figure: Callable[[pd.DataFrame], Span | None]
    holds: Span
    digits: int = 3
    unit: str = ""
    reasons: Mapping[Verdict, str] = field(default_factory=dict)
    fitted: bool = False

    def judged(self, rows: pd.DataFrame, *, few: bool = False) -> Judged:
        """Return what the rows say of it."""
        return Judged(self, self.figure(rows), few)


@dataclass(frozen=True)
class Judged:
    """A finding, our figure, and whether fewer than half of the part's runs are there."""

    finding: Finding
    ours: Span | None
    few: bool = False

    @property
    def verdict(self) -> Verdict:
        """The rule's verdict, but that few runs decide nothing."""
        found = judge(self.ours, self.finding.holds)
        return "undecided" if self.few and self.ours is not None else found

    @property
    def hangs_on_tolerance(self) -> bool | None:
        """Whether the verdict is another at half or twice the tolerance; None without two sides."""
        holds = self.finding.holds
        one_side = math.isinf(holds.low) or math.isinf(holds.high) or holds.low == holds.high
        if one_side or self.few:
            return None
        return any(judge(self.ours, holds.scaled(by)) != self.verdict for by in (0.5, 2))


@dataclass(frozen=True)
class Part:
    """Findings on rows of some sections of the suite.

    ``about`` says what was run, and how it is not what the paper ran.
    """

    title: str
    kind: Kind
    about: str
    sections: tuple[str, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Callable[[pd.DataFrame], Table], ...] = ()

    @property
    def counted(self) -> bool:
        """Whether its findings count."""
        return self.kind in COUNTED

    def judged(self, rows: pd.DataFrame, planned: int = 0) -> list[Judged]:
        """Return what the rows of its sections say of each finding, of so many planned runs."""
        own = self.own(rows)
        return [finding.judged(own, few=2 * len(own) < planned) for finding in self.findings]

    def own(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of its sections."""
        return rows[rows["section"].isin(list(self.sections))].reset_index(drop=True)


@dataclass(frozen=True)
class Page:
    """An experiment of a paper, with the files ``SLUG.md``, ``SLUG.svg`` and ``rows/SLUG.csv``.

    ``settings`` are what, in the paper, here; ``tolerances`` what a finding allows, and why so
    much. ``figure`` returns an SVG of all rows. ``suite`` is a file of the user's in place of
    ``suites/SLUG.toml``.
    """

    slug: str
    title: str
    source: str
    experiment: str
    settings: tuple[tuple[str, str, str], ...]
    parts: tuple[Part, ...]
    figure: Callable[[pd.DataFrame], str] | None = None
    caption: str = ""
    tolerances: tuple[tuple[str, str], ...] = ()
    suite: Path | None = None

    def read_suite(self) -> Suite:
        """Return the suite that makes the rows."""
        return read_suite(self.suite or SUITES / f"{self.slug}.toml")

    def judged(self, rows: pd.DataFrame) -> list[list[Judged]]:
        """Return what the rows say of the findings of each part."""
        suite = self.read_suite()
        return [part.judged(rows, planned_runs(suite, part.sections)) for part in self.parts]


@cache
def pages() -> dict[str, Page]:
    """Return the pages by slug: every module of ``pages/`` has a ``PAGE``."""
    folder = Path(__file__).parent / "pages"
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    found = [importlib.import_module(f"papers.pages.{name}").PAGE for name in names]
    return {page.slug: page for page in found}
