"""The files of the nightly tables: rows, a table a page, and the differences of a night."""

import re
from collections.abc import Iterable

import pandas as pd

from reports.build import make_report
from reports.figures.ranking import MAIN_RESULT
from reports.freshness import age_text, origin_text, stale_rows
from reports.markdown import code, has_page, page_text, table_page, table_text, template
from reports.nightly.compare import Comparison
from reports.nightly.night_rows import TIMING
from reports.page_parts import Part, ReportFigure, ReportPage
from reports.stored_results import BestKnown, Results
from reports.table import Table
from support.message_text import plural

#: Generated texts of the README, by their names.
_PLACE = re.compile(r"(<!-- ([a-z ]+): python [^>]*-->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
#: The page of the tables on predictions, and the compared methods: those without, and two kinds.
WORTH_PAGE, _COMPARED = "tables/prediction-worth.md", r"^(?!.* with )| with (?:noise|rank)\("
#: Policy and parameter of the README's sentence on them.
_POLICY, _ERROR = "srpt-predicted", "noise(sigma)"
_SENTENCE = (
    f"[With predictions](reports/nightly/README.md#what-predictions-are-worth) `{_POLICY}` has a "
    "smaller gap than the best non-clairvoyant policy up to this sigma of a log-normal error: {}.\n"
)
#: Lines of each list that are shown; the counts are always whole.
MOST_LINES = 200


#: Predictions: parts of the night's page, their files by path, and the README's sentence.
WorthPages = tuple[list[Part], dict[str, str], str]


def worth_pages(rows: pd.DataFrame, stale: int | None = None) -> WorthPages:
    """Return what predictions are worth, by rows of the suite ``predictions``."""
    report = _report(rows[rows["method"].str.contains(_COMPARED)], None)
    shown = [part for part in report.shown if part.slug.startswith("prediction")]
    tables = [part for part in shown if isinstance(part, Table)]
    figures = [part for part in shown if isinstance(part, ReportFigure)]
    lines = tables[0].frame
    own = lines[lines["policy"].str.startswith(_POLICY) & lines["parameter"].eq(_ERROR)]
    pairs = zip(own["even"].str.partition(" ")[0], own["family"].map(code), strict=True)
    values = ", ".join(f"{value} ({family})" for value, family in pairs)
    age = origin_text(rows, stale_rows(rows) if stale is None else stale)
    files = _drawings(figures) | {WORTH_PAGE: page_text("Predictions", [*tables, age])}
    return [*figures, template("predictions")], files, _SENTENCE.format(values)


def texts(
    rows: pd.DataFrame,
    best_known: BestKnown | None = None,
    stale: int | None = None,
    worth: WorthPages | None = None,
) -> dict[str, str]:
    """Return every file that is made from the rows, by its path in the folder of the tables.

    Reproducible sections and the others have separate tables: the machine decides the others. The
    page calls so many rows ``stale``; None counts them. ``worth`` adds a section.
    """
    parts: list[Part] = []
    files: dict[str, str] = {}
    lines = [template("nightly").format(timing=", ".join(f"`{name}`" for name in TIMING))]
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
            files |= _drawings(parts)
        tables = [part for part in report.shown if isinstance(part, Table) and has_page(part)]
        files |= {f"{folder}/{part.slug}.md": table_page(part) for part in tables}
        links = [f"- [{part.title}]({folder}/{part.slug}.md)\n" for part in tables]
        lines += [f"## {title}\n\n{_sections(chosen)}\n", f"{report.summary}\n", "".join(links)]
    age = origin_text(rows, stale_rows(rows) if stale is None else stale)
    if worth is not None:
        files, parts = files | worth[1], [*parts, *worth[0]]
    return files | {"README.md": page_text("Nightly tables", [*parts, *lines, age])}


def _drawings(parts: Iterable[Part]) -> dict[str, str]:
    drawn = (part for part in parts if isinstance(part, ReportFigure))
    return {f"figures/{part.slug}.svg": part.drawing.svg for part in drawn}


def readme_text(
    readme: str,
    rows: pd.DataFrame,
    best_known: BestKnown | None,
    stale: int | None = None,
    worth: WorthPages | None = None,
) -> str:
    """Return the README with the main result and the age of its rows, and ``worth`` in a sentence.

    Both stand between marks.
    """
    table, figure = report_of(rows, best_known).first[:2]
    assert isinstance(table, Table)
    assert isinstance(figure, ReportFigure)
    picture = f"![{figure.title}](reports/nightly/figures/{MAIN_RESULT}.svg)"
    age = age_text(len(rows), stale_rows(rows) if stale is None else stale)
    shown = {"main result": f"{picture}\n\n{table_text(table)}\n{age}\n"}
    shown |= {} if worth is None else {"predictions": worth[2]}
    return _PLACE.sub(lambda found: f"{found[1]}{shown.get(found[2], found[3])}{found[4]}", readme)


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
