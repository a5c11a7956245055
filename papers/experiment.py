"""Pages as data: an experiment, its settings, its findings, and the rules that judge them."""

from __future__ import annotations

import importlib
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from kvopt.suites import Suite, read_suite
from papers.experiment_rows import planned_runs
from papers.span import FindingVerdict, Span, judge
from reports.table import Table

SUITES = Path(__file__).parent / "suites"
_PAGES = Path(__file__).parent / "pages"

#: A reproduction runs the stated settings.  A calibration has a setting chosen by a printed figure,
#: and shows nothing about that figure.
PartKind = Literal["reproduction", "calibration", "other reading", "other settings"]
#: Kinds whose findings count; the findings of other kinds are shown only.
COUNTED: tuple[PartKind, ...] = ("reproduction", "calibration")


def either(reason: str) -> dict[FindingVerdict, str]:
    """Return one reason for both verdicts of a finding that is not reproduced."""
    return {"not reproduced": reason, "undecided": reason}


@dataclass(frozen=True)
class Finding:
    """A finding of a paper, and the rule that judges it.

    ``paper`` is the printed figure.  ``figure`` computes ours from the rows of the part, or None
    from too few.  The finding is reproduced if ours is within ``holds``; other verdicts need one of
    the ``reasons``.  A ``fitted`` figure chose a setting: it is shown and not counted.
    """

    claim: str
    paper: str
    figure: Callable[[pd.DataFrame], Span | None]
    holds: Span
    digits: int = 3
    unit: str = ""
    reasons: Mapping[FindingVerdict, str] = field(default_factory=dict)
    fitted: bool = False

    def judge(self, rows: pd.DataFrame, *, few: bool = False) -> JudgedFinding:
        """Return our figure with its verdict."""
        return JudgedFinding(self, self.figure(rows), few)


@dataclass(frozen=True)
class JudgedFinding:
    """A finding with our figure; ``few`` if fewer than half of the planned runs have a row."""

    finding: Finding
    ours: Span | None
    few: bool = False

    @property
    def verdict(self) -> FindingVerdict:
        """Verdict of the rule; few runs decide nothing."""
        found = judge(self.ours, self.finding.holds)
        return "undecided" if self.few and self.ours is not None else found

    @property
    def hangs_on_tolerance(self) -> bool | None:
        """True if half or twice the tolerance changes the verdict; None without two sides."""
        holds = self.finding.holds
        one_side = math.isinf(holds.low) or math.isinf(holds.high) or holds.low == holds.high
        if one_side or self.few:
            return None
        return any(judge(self.ours, holds.scaled(by)) != self.verdict for by in (0.5, 2))


@dataclass(frozen=True)
class PagePart:
    """Findings on rows of some sections of the suite; ``about`` states the settings."""

    title: str
    kind: PartKind
    about: str
    sections: tuple[str, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Callable[[pd.DataFrame], Table], ...] = ()

    @property
    def counted(self) -> bool:
        """True if its findings count."""
        return self.kind in COUNTED

    def judge(self, rows: pd.DataFrame, planned: int = 0) -> list[JudgedFinding]:
        """Return its findings with our figures, given the number of planned runs."""
        kept = self.select_rows(rows)
        return [finding.judge(kept, few=2 * len(kept) < planned) for finding in self.findings]

    def select_rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of its sections."""
        return rows[rows["section"].isin(list(self.sections))].reset_index(drop=True)


@dataclass(frozen=True)
class ExperimentPage:
    """An experiment of a paper, with the files ``SLUG.md``, ``SLUG.svg`` and ``rows/SLUG.csv``.

    ``settings`` are (name, in the paper, here), ``tolerances`` are (tolerance, reason).
    ``figure`` draws all rows as SVG.  ``suite`` is a custom file instead of ``suites/SLUG.toml``.
    """

    slug: str
    title: str
    source: str
    experiment: str
    settings: tuple[tuple[str, str, str], ...]
    parts: tuple[PagePart, ...]
    figure: Callable[[pd.DataFrame], str] | None = None
    caption: str = ""
    tolerances: tuple[tuple[str, str], ...] = ()
    suite: Path | None = None

    def read_suite(self) -> Suite:
        """Return the suite of its runs."""
        return read_suite(self.suite or SUITES / f"{self.slug}.toml")

    def judge(self, rows: pd.DataFrame) -> list[list[JudgedFinding]]:
        """Return the findings of each part with our figures."""
        suite = self.read_suite()
        return [part.judge(rows, planned_runs(suite, part.sections)) for part in self.parts]


def read_page(
    slug: str,
    parts: tuple[PagePart, ...],
    figure: Callable[[pd.DataFrame], str] | None = None,
) -> ExperimentPage:
    """Return a page whose texts are in ``pages/SLUG.toml``."""
    texts = tomllib.loads((_PAGES / f"{slug}.toml").read_text(encoding="utf-8"))
    return ExperimentPage(slug, parts=parts, figure=figure, **texts)


@cache
def pages() -> dict[str, ExperimentPage]:
    """Return the ``PAGE`` of every module of ``pages/``, by slug."""
    names = sorted(path.stem for path in _PAGES.glob("*.py") if path.stem != "__init__")
    found = [importlib.import_module(f"papers.pages.{name}").PAGE for name in names]
    return {page.slug: page for page in found}
