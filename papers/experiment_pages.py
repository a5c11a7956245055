"""Pages of experiments and their index as Markdown."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from papers.experiment import COUNTED, ExperimentPage, Finding, JudgedFinding, PagePart
from papers.experiment_rows import planned_runs
from papers.span import CONFIDENCE, FindingVerdict, span_text
from reports import markdown
from reports.freshness import origin_text, stale_rows
from reports.markdown import code, pipe_table, table_text

VERDICTS: tuple[FindingVerdict, ...] = ("reproduced", "not reproduced", "undecided", "not run")
_FITTED = "fitted by it"
_KINDS = {
    "reproduction": "Reproduction: no setting is chosen by the paper's results, unless the table "
    "above says so.",
    "calibration": "Calibration: one setting is chosen to match one of the paper's results, which "
    "is not counted.  The other findings are counted.",
    "other reading": "Another reading, which contradicts the counted one: shown, not counted.",
    "other settings": "Other settings than the paper's: its figures are shown, not compared.",
}


def page_text(
    page: ExperimentPage,
    rows: pd.DataFrame,
    judged: Sequence[Sequence[JudgedFinding]],
    stale: int | None = None,
) -> str:
    """Return a page as Markdown, with ``stale`` older rows; None counts them."""
    parts = [
        f"{page.source}  {page.experiment}\n",
        pipe_table(["", "in the paper", "here"], [list(each) for each in page.settings]),
        *_tolerances(page, judged),
        f"Suite: {_suite_text(page)}; its [rows](rows/{page.slug}.csv).\n",
    ]
    if page.figure is not None and len(rows):
        parts.append(f"![{page.title}]({page.slug}.svg)\n\n{page.caption}\n")
    suite = page.read_suite()
    for part, found in zip(page.parts, judged, strict=True):
        parts += _parts_of(part, planned_runs(suite, part.sections), rows, found)
    if len(rows):
        parts.append(_origin(rows, stale_rows(rows) if stale is None else stale))
    return markdown.page_text(page.title, parts)


def _tolerances(page: ExperimentPage, judged: Sequence[Sequence[JudgedFinding]]) -> list[str]:
    """Return tolerances with reasons, and the number of verdicts that depend on them."""
    if not page.tolerances:
        return []
    lines = [f"- *{what}*: {why}" for what, why in page.tolerances]
    hang, two_sided = _hanging(each for found in judged for each in found)
    if two_sided:
        lines.append(
            f"- Half or twice the tolerance changes {hang} of the {two_sided} verdicts with a "
            "tolerance on both sides."
        )
    return ["Tolerances:\n", "\n".join(lines) + "\n"]


def _hanging(judged: Iterable[JudgedFinding]) -> tuple[int, int]:
    """Return the verdicts that half or twice the tolerance changes, and the two-sided ones."""
    found = [each.hangs_on_tolerance for each in judged if each.ours is not None]
    return found.count(True), len(found) - found.count(None)


def _origin(rows: pd.DataFrame, stale: int) -> str:
    """Return origin and age of rows, and the number of rows without a CPU."""
    text = origin_text(rows.assign(total_seconds=rows["seconds"]), stale)
    unknown = int(rows["cpu"].eq("").sum())
    return text + (f"\n{unknown:,} rows do not name their CPU.\n" if unknown else "")


def _suite_text(page: ExperimentPage) -> str:
    return code(str(page.suite)) if page.suite else f"[`{page.slug}.toml`](suites/{page.slug}.toml)"


def _parts_of(
    part: PagePart, planned: int, rows: pd.DataFrame, judged: Sequence[JudgedFinding]
) -> list[str]:
    kept = part.select_rows(rows)
    sections = ", ".join(f"`{name}`" for name in part.sections)
    few = "  Fewer than half: no finding is decided." if any(each.few for each in judged) else ""
    parts = [
        f"## {part.title}\n",
        f"*{_KINDS[part.kind]}*  {part.about}\n",
        f"{len(kept):,} of {planned:,} runs of {sections}.{few}\n",
        pipe_table(
            ["", "finding", "in the paper", "here", "holds for", "verdict"],
            [_line(number, each, part) for number, each in enumerate(judged, 1)],
        ),
        *(_reasons(judged) if part.kind != "other settings" else ()),
    ]
    for make in part.tables if len(kept) else ():
        table = make(kept)
        parts.append(f"### {table.title}\n\n{table_text(table)}")
    return parts


def _line(number: int, judged: JudgedFinding, part: PagePart) -> list[str]:
    finding = judged.finding
    verdict = _FITTED if finding.fitted else judged.verdict
    if part.kind == "other settings":
        verdict = "not comparable"
    ours = span_text(judged.ours, finding.digits, finding.unit)
    holds = span_text(finding.holds, _digits(finding), finding.unit)
    return [str(number), finding.claim, finding.paper, ours, holds, f"**{verdict}**"]


def _digits(finding: Finding) -> int:
    """Return the digits of a tolerance: 0 if its ends are whole numbers."""
    ends = [end for end in (finding.holds.low, finding.holds.high) if math.isfinite(end)]
    return 0 if all(end == round(end) for end in ends) else finding.digits


def _reasons(judged: Sequence[JudgedFinding]) -> list[str]:
    """Return each reason with the numbers of its findings."""
    found: dict[str, list[str]] = {}
    for number, each in enumerate(judged, 1):
        reason = each.finding.reasons.get(each.verdict)
        if reason and not (each.finding.fitted or each.few or each.ours is None):
            found.setdefault(reason, []).append(str(number))
    lines = [f"- {', '.join(numbers)}: {reason}" for reason, numbers in found.items()]
    return ["Likely reasons:\n", "\n".join(lines) + "\n"] if lines else []


def counts(
    page: ExperimentPage, judged: Sequence[Sequence[JudgedFinding]]
) -> dict[str, Counter[FindingVerdict]]:
    """Return the number of verdicts by kind, without fitted findings."""
    found: dict[str, Counter[FindingVerdict]] = {}
    for part, findings in zip(page.parts, judged, strict=True):
        verdicts = (each.verdict for each in findings if not each.finding.fitted)
        if part.counted:
            found.setdefault(part.kind, Counter()).update(verdicts)
    return found


def index_text(
    found: Iterable[tuple[ExperimentPage, Sequence[Sequence[JudgedFinding]]]],
    rows: pd.DataFrame,
    stale: int,
) -> str:
    """Return the README of the folder: all pages with the number of their verdicts."""
    found = list(found)
    every = [
        each
        for page, judged in found
        for part, findings in zip(page.parts, judged, strict=True)
        for each in findings
        if part.counted and not each.finding.fitted
    ]
    hang, two_sided = _hanging(every)
    figures = sum(each.ours is not None for each in every)
    lines = [
        [f"[{page.title}]({page.slug}.md)", kind]
        + [str(number[verdict]) if kind in COUNTED else "–" for verdict in VERDICTS]
        for page, judged in found
        for kind, number in (counts(page, judged) or {page.parts[0].kind: Counter()}).items()
    ]
    template = Path(__file__).with_name("index.txt").read_text(encoding="utf-8")
    head = template.format(
        table=pipe_table(["page", "kind", *VERDICTS], lines),
        confidence=100 * CONFIDENCE,
        figures=figures,
        chance=figures * (1 - CONFIDENCE),
        hang=hang,
        two_sided=two_sided,
    )
    return f"{head}{_origin(rows, stale)}"
