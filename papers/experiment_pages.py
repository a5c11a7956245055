"""Pages as Markdown: pure functions of the page and its rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from papers.experiment import COUNTED, Finding, Judged, Page, Part
from papers.experiment_rows import planned_runs
from papers.span import CONFIDENCE, Verdict, span_text
from reports import markdown
from reports.freshness import origin_text, stale_rows
from reports.markdown import code, pipe_table, table_text

VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided", "not run")
_FITTED = "fitted by it"
_KINDS = {
    "reproduction": "Reproduction: no setting is chosen by the paper's results, unless the table "
    "above says so.",
    "calibration": "Calibration: a setting is chosen to match one of the paper's results, which is "
    "not counted; the other findings are.",
    "other reading": "Another reading, which excludes the one that is counted: shown, not counted.",
    "other settings": "Other settings than the paper's: its figures are shown, not compared.",
}
_INDEX = """\
# What the papers found, and what is reproduced here

This folder is a package of its own, `kvopt-papers`, which needs kvopt and is not in its wheel.  It
has three parts: a page for each experiment of the [papers](../docs/papers.md), with the paper's
figures next to ours; the [ledger](ledger/README.md) of all that the papers state, from which the
[errata](../docs/errata.md) are made; and [exact worst cases](worst_cases/README.md) of policies.

A page has a verdict on every finding.  Verdicts are computed.  Our figure is an interval: a
certified interval, a count, or the mean of independent repeats with {confidence:.0f} %
confidence; the page states the range in which the finding holds.  The finding is **reproduced** if
the whole interval is in that range, **not reproduced** if no part of it is, and else **undecided**;
it is **not run** where there are too few rows for a figure.  Where fewer than half of the planned
runs are there, each is undecided.

A *reproduction* runs the settings that the paper states.  A *calibration* has one setting that was
chosen to match one of the paper's results; that result is shown and not counted.  Of two readings
of a text that exclude each other one is counted, that of the printed algorithm, and the other
shown.  What is run on other settings than the paper's is **not comparable**: shown, not counted.

**How far to trust a count.**  The confidence is that of one interval, not of all together: were all
{figures} findings with a figure such means, about {chance:.0f} would miss theirs by chance.  Where
a finding allows a tolerance on both sides, the page says why so much; with half or twice as much
{hang} of {two_sided} verdicts would be others.  So a single verdict near its edge says little, and
no count is a test of a paper.

```sh
python evaluate.py papers/suites/j2-table-1.toml --store papers.sqlite  # repeats no stored run
python -m papers j2-table-1 --store papers.sqlite       # takes its rows, writes the pages
python -m papers --check                                # are the pages what the rows give?
python -m papers "J1 Theorem 5.3"                       # computes a statement again
pytest papers/tests                                     # the quick tests
```

Rows of a store are added to the committed ones, so a campaign can be continued on another machine.

A page can be made of requests of your own, such as a real trace.  Write a suite with the section
names of the page's, in which
`{{ trace = "mine.csv", memory = 16492, limit = 1000, rate = 50.0, arrival_seed = 0 }}` and the like
stand for the draws, run it, and write the page into another folder:

```sh
python evaluate.py mine.toml --store mine.sqlite
python -m papers j2-table-1 --store mine.sqlite --suite mine.toml --out mine
```

Not here: the token counts of C section 6, which need its data set.

`pip install -e papers` makes `python -m papers` work in any folder.

"""


def page_text(
    page: Page, rows: pd.DataFrame, judged: Sequence[Sequence[Judged]], stale: int | None = None
) -> str:
    """Return a page as Markdown, which calls so many rows ``stale``; None for those that are."""
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


def _tolerances(page: Page, judged: Sequence[Sequence[Judged]]) -> list[str]:
    """Return what findings allow and why, and how many verdicts hang on it."""
    if not page.tolerances:
        return []
    lines = [f"- *{what}*: {why}" for what, why in page.tolerances]
    hang, two_sided = _hanging(each for found in judged for each in found)
    if two_sided:
        lines.append(
            f"- With half or twice the tolerance {hang} of the {two_sided} verdicts that have one "
            "on both sides would be others."
        )
    return ["Tolerances:\n", "\n".join(lines) + "\n"]


def _hanging(judged: Iterable[Judged]) -> tuple[int, int]:
    """Return how many verdicts would be others at half or twice the tolerance, and of how many."""
    found = [each.hangs_on_tolerance for each in judged if each.ours is not None]
    return found.count(True), len(found) - found.count(None)


def _origin(rows: pd.DataFrame, stale: int) -> str:
    """Return origin and age of rows, and how many lack a CPU."""
    text = origin_text(rows.assign(total_seconds=rows["seconds"]), stale)
    unknown = int(rows["cpu"].eq("").sum())
    return text + (f"\n{unknown:,} rows do not name their CPU.\n" if unknown else "")


def _suite_text(page: Page) -> str:
    return code(str(page.suite)) if page.suite else f"[`{page.slug}.toml`](suites/{page.slug}.toml)"


def _parts_of(part: Part, planned: int, rows: pd.DataFrame, judged: Sequence[Judged]) -> list[str]:
    own = part.own(rows)
    sections = ", ".join(f"`{name}`" for name in part.sections)
    few = "  Fewer than half: no finding is decided." if any(each.few for each in judged) else ""
    parts = [
        f"## {part.title}\n",
        f"*{_KINDS[part.kind]}*  {part.about}\n",
        f"{len(own):,} of {planned:,} runs of {sections}.{few}\n",
        pipe_table(
            ["", "finding", "in the paper", "here", "holds for", "verdict"],
            [_line(number, each, part) for number, each in enumerate(judged, 1)],
        ),
        *(_reasons(judged) if part.kind != "other settings" else ()),
    ]
    for make in part.tables if len(own) else ():
        table = make(own)
        parts.append(f"### {table.title}\n\n{table_text(table)}")
    return parts


def _line(number: int, judged: Judged, part: Part) -> list[str]:
    finding = judged.finding
    verdict = _FITTED if finding.fitted else judged.verdict
    if part.kind == "other settings":
        verdict = "not comparable"
    ours = span_text(judged.ours, finding.digits, finding.unit)
    holds = span_text(finding.holds, _digits(finding), finding.unit)
    return [str(number), finding.claim, finding.paper, ours, holds, f"**{verdict}**"]


def _digits(finding: Finding) -> int:
    """Return the digits of what a finding allows, whose ends are round numbers at times."""
    ends = [end for end in (finding.holds.low, finding.holds.high) if math.isfinite(end)]
    return 0 if all(end == round(end) for end in ends) else finding.digits


def _reasons(judged: Sequence[Judged]) -> list[str]:
    """Return the reasons of what does not come out, each with the findings that it is for."""
    found: dict[str, list[str]] = {}
    for number, each in enumerate(judged, 1):
        reason = each.finding.reasons.get(each.verdict)
        if reason and not (each.finding.fitted or each.few or each.ours is None):
            found.setdefault(reason, []).append(str(number))
    lines = [f"- {', '.join(numbers)}: {reason}" for reason, numbers in found.items()]
    return ["Likely reasons:\n", "\n".join(lines) + "\n"] if lines else []


def counts(page: Page, judged: Sequence[Sequence[Judged]]) -> dict[str, Counter[Verdict]]:
    """Return the number of verdicts by kind; what a setting was fitted by is left out."""
    found: dict[str, Counter[Verdict]] = {}
    for part, findings in zip(page.parts, judged, strict=True):
        verdicts = (each.verdict for each in findings if not each.finding.fitted)
        if part.counted:
            found.setdefault(part.kind, Counter()).update(verdicts)
    return found


def index_text(
    found: Iterable[tuple[Page, Sequence[Sequence[Judged]]]], rows: pd.DataFrame, stale: int
) -> str:
    """Return the README of the folder: every page with the number of its verdicts."""
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
    head = _INDEX.format(
        confidence=100 * CONFIDENCE,
        figures=figures,
        chance=figures * (1 - CONFIDENCE),
        hang=hang,
        two_sided=two_sided,
    )
    lines = [
        [f"[{page.title}]({page.slug}.md)", kind]
        + [str(number[verdict]) if kind in COUNTED else "–" for verdict in VERDICTS]
        for page, judged in found
        for kind, number in (counts(page, judged) or {page.parts[0].kind: Counter()}).items()
    ]
    table = pipe_table(["page", "kind", *VERDICTS], lines)
    return f"{head}{table}\n{_origin(rows, stale)}"
