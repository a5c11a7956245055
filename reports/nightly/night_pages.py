"""The files of the nightly tables: rows, a table a page, and the differences of a night."""

import re

import pandas as pd

from reports.build import make_report
from reports.figures.ranking import MAIN_RESULT
from reports.freshness import age_text, origin_text, stale_rows
from reports.markdown import code, has_page, page_text, table_page, table_text
from reports.nightly.compare import Comparison
from reports.nightly.night_rows import TIMING
from reports.page_parts import Part, ReportFigure, ReportPage
from reports.stored_results import BestKnown, Results
from reports.table import Table
from support.message_text import plural

#: The place of the main result in the README.
_RESULT = re.compile(r"(<!-- main result[^>]*-->\n).*?(<!-- end -->\n)", re.DOTALL)
#: Lines of each list that are shown; the counts are always whole.
MOST_LINES = 200
_INTRODUCTION = """\
## The suite

These are the runs of the suite [`nightly`](../../kvopt/suites/nightly.toml).
`.github/workflows/nightly.yml` makes a new set every night and compares it with these.  A night
fails on a refused schedule, on a bound above a schedule, on an optimum that is no longer proved,
and on a worse result in a reproducible section.  Slower times are reported, and no failure.
[`reports/METHOD.md`](../METHOD.md) explains the columns.

```sh
python evaluate.py nightly --jobs 2 --store nightly.sqlite
python -m reports.nightly --store nightly.sqlite --out /tmp/nightly      # a night, compared
python -m reports.nightly --store nightly.sqlite --update                # a new reference, here
python -m reports.nightly --update                                       # its tables, made again
python -m reports.nightly --check                                        # are the tables fresh?
```

The raw rows are in [`rows.csv`](rows.csv).  In reproducible sections all its columns are the same
on any machine, except these: {timing}.
"""


def texts(
    rows: pd.DataFrame, best_known: BestKnown | None = None, stale: int | None = None
) -> dict[str, str]:
    """Return every file that is made from the rows, by its path in the folder of the tables.

    Reproducible sections and the others have separate tables: the machine decides the others. The
    page calls so many rows ``stale``; None counts them.
    """
    parts: list[Part] = []
    files: dict[str, str] = {}
    lines = [_INTRODUCTION.format(timing=", ".join(f"`{name}`" for name in TIMING))]
    for reproducible, folder, title in (
        (True, "tables", "Reproducible"),
        (False, "anytime", "Reached in a time, on one machine"),
    ):
        chosen = rows[rows["reproducible"] == reproducible]
        if chosen.empty:
            continue
        report = _report(chosen, best_known)
        if not files:
            parts = [*report.first, report.words]
            drawn = [part for part in parts if isinstance(part, ReportFigure)]
            files |= {f"figures/{part.slug}.svg": part.drawing.svg for part in drawn}
        tables = [part for part in report.shown if isinstance(part, Table) and has_page(part)]
        files |= {f"{folder}/{part.slug}.md": table_page(part) for part in tables}
        links = [f"- [{part.title}]({folder}/{part.slug}.md)\n" for part in tables]
        lines += [f"## {title}\n\n{_sections(chosen)}\n", f"{report.summary}\n", "".join(links)]
    age = origin_text(rows, stale_rows(rows) if stale is None else stale)
    return files | {"README.md": page_text("Nightly tables", [*parts, *lines, age])}


def readme_text(
    readme: str, rows: pd.DataFrame, best_known: BestKnown | None, stale: int | None = None
) -> str:
    """Return the README with the main result, and the age of its rows, between its two marks."""
    table, figure = report_of(rows, best_known).first[:2]
    assert isinstance(table, Table)
    assert isinstance(figure, ReportFigure)
    picture = f"![{figure.title}](reports/nightly/figures/{MAIN_RESULT}.svg)"
    age = age_text(len(rows), stale_rows(rows) if stale is None else stale)
    shown = f"\n{picture}\n\n{table_text(table)}\n{age}\n"
    return _RESULT.sub(lambda marks: f"{marks[1]}{shown}{marks[2]}", readme)


def report_of(rows: pd.DataFrame, best_known: BestKnown | None = None) -> ReportPage:
    """Return the report of the reproducible sections, in which policies are ranked."""
    return _report(rows[rows["reproducible"]], best_known)


def _report(rows: pd.DataFrame, best_known: BestKnown | None) -> ReportPage:
    keyed = rows.assign(key=[str(position) for position in range(len(rows))])
    return make_report(Results(keyed, best_known or {}), pages=0, pictures=0)


def _sections(rows: pd.DataFrame) -> str:
    counts = rows.groupby("section", sort=False)
    shown = [
        f"`{name}` ({plural(len(group), 'run')}, "
        f"{plural(group['instance_sha256'].nunique(), 'instance')}, "
        f"{plural(group['method'].nunique(), 'method')})"
        for name, group in counts
    ]
    return "Sections: " + ", ".join(shown) + "."


def comparison_text(comparison: Comparison) -> str:
    """Return the result of a night as Markdown."""
    parts = [
        f"{plural(comparison.compared, 'run')} compared with the committed rows: "
        f"{len(comparison.failures):,} failures, {len(comparison.better):,} better, "
        f"{len(comparison.changed):,} changed, {len(comparison.slower):,} slower.\n"
    ]
    for title, entries in (
        ("Failures", comparison.failures),
        ("Better: the committed rows can be replaced", comparison.better),
        ("Changed or new, not judged", comparison.changed),
        ("Slower, not judged", comparison.slower),
    ):
        lines = [f"- {code(line, in_table=False)}\n" for line in entries[:MOST_LINES]]
        if len(entries) > MOST_LINES:
            lines.append(f"- and {len(entries) - MOST_LINES:,} more\n")
        parts += [f"## {title}\n", "".join(lines)] if lines else []
    return page_text(f"The night {'FAILED' if comparison.failures else 'passed'}", parts)
