"""Builds the reports of stored runs: ``python -m reports.build --store STORE --out DIR``.

Every file is a function of the rows (and of the stored schedules, for pictures): no clock, no draw,
no path of a machine.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import click

from instances.time_unit import SECONDS, TimeUnit
from kvopt.best_known import known_values
from kvopt.store import StoreError
from kvopt.store.location import store_files
from kvopt.store.row_files import ExportError, documents, read_rows
from reports import html, markdown
from reports.compared_methods import answer_table
from reports.figures.figure_parts import Drawing, try_drawing
from reports.figures.parameter import parameter_figure
from reports.figures.profile_curves import profile_figure
from reports.figures.ranking import MAIN_RESULT, ranking_figure, ranking_table
from reports.freshness import origin
from reports.page_parts import PageWords, ReportFigure, ReportPage
from reports.pages.instance_pictures import DocumentStore
from reports.pages.report_pages import named_instances, page_names, report_pages
from reports.paper_exports import exports
from reports.parameter_curves import BLIND, CLAIRVOYANT
from reports.per_instance import spread_note
from reports.profiles import PROFILE_NOTE
from reports.report_folder import check_place, report_files, write_files
from reports.stored_results import Results
from reports.table import Table
from reports.tables import gaps, ratios, run_statuses, serving_metrics
from reports.tables.instance_lines import instance_table, run_table
from reports.tables.leaderboard import LEADERBOARD, leaderboards
from reports.tables.prediction_worth import prediction_table
from reports.terminal_report import other_boards
from reports.time_units import MARKS, Unit
from reports.verdict_sentences import verdict
from serving.answer import BASE
from serving.slo import SERVER_SLO
from support.click_command import (
    CHECK_OPTION,
    QUIET_OPTION,
    Command,
    CommandOptions,
    count_option,
    option,
)
from support.generated_files import regenerate
from support.message_text import plural
from support.output_checks import OutputError
from support.progress import count_progress
from support.usage_errors import complain

#: Instances with a page, and pictures after which no page gets any; one takes about half a second.
MOST_PAGES = 200
MOST_PICTURES = 20


def build_report(results: Results, folder: str | Path, **chosen: Any) -> list[Path]:
    """Write all reports of the rows into a folder and return the files; see :func:`make_report`."""
    return write_files(Path(folder), whole(make_report(results, **chosen)))


def make_report(
    results: Results,
    *,
    store: DocumentStore | None = None,
    pages: int = MOST_PAGES,
    pictures: int = MOST_PICTURES,
) -> ReportPage:
    """Return the report of the rows, with so many pages of instances."""
    sentences = verdict(results.units)
    parts = list(_parts(results))
    named = named_instances(results.units, sentences, parts)
    names = page_names(results.reference, pages, named)
    linked = [replace(part, links=names) if isinstance(part, Table) else part for part in parts]
    first = list(takewhile(lambda part: part.slug.startswith((MAIN_RESULT, LEADERBOARD)), linked))
    return ReportPage(
        title="kvopt: results",
        parts=(*first, PageWords(sentences), *linked[len(first) :]),
        summary=_summary(results),
        origin=origin(results.current),
        contradictions=results.contradictions,
        pages=tuple(report_pages(names, results, results.rows, store, pictures, named)),
    )


def whole(report: ReportPage) -> dict[str, str | bytes]:
    """Return the contents of every file of the report, the files for a paper too."""
    taken = count_progress(exports(report), "tables and figures written for a paper")
    return {**report_texts(report), **dict(taken)}


def report_texts(report: ReportPage) -> dict[str, str]:
    """Return the contents of every page, table and picture of the report, by its path."""
    files = {"README.md": markdown.overview(report), "index.html": html.index_page(report)}
    for part in report.shown:
        if isinstance(part, ReportFigure):
            files[f"figures/{part.slug}.svg"] = part.drawing.svg
        elif markdown.has_page(part):
            files[f"tables/{part.slug}.md"] = markdown.table_page(part)
    for page in count_progress(report.pages, "pages of instances written as HTML"):
        files[f"instances/{page.slug}.html"] = html.instance_page(page)
        files |= page.drawings("instances/")
    return files


def _parts(results: Results) -> Iterator[Table | ReportFigure]:
    """Yield the parts with means, a unit of time each, then the parts with a line a run."""
    parts: Iterator[Table | ReportFigure | None] = chain(
        *(_parts_of(unit) for unit in results.units),
        [serving_metrics.serving_table(results.runs)],
        *(_listed(unit, results) for unit in MARKS),
        [run_statuses.status_counts(results.current)],
    )
    for part in parts:
        if part is not None and not (isinstance(part, Table) and part.frame.empty):
            yield part


def _listed(unit: TimeUnit, results: Results) -> Iterator[Table]:
    """Yield the lists of instances and runs of a unit of time, under any batch time."""
    known = results.reference[results.reference["batch_time"].ne("").eq(unit is SECONDS)]
    own = results.runs[results.runs["batch_time"].ne("").eq(unit is SECONDS)]
    mark, words = MARKS[unit]
    for part in (instance_table(known, own, unit), run_table(own, unit)):
        yield replace(part, slug=part.slug + mark, title=part.title + words)


def _parts_of(unit: Unit) -> Iterator[Table | ReportFigure]:
    for part in count_progress(_made(unit), f"tables and figures made{unit.words}"):
        if part is not None:
            yield replace(part, slug=part.slug + unit.mark, title=part.title + unit.words)


def _made(unit: Unit) -> Iterator[Table | ReportFigure | None]:
    """Yield the parts with means over a unit's runs, each made when its turn is."""
    scheduled = unit.scheduled
    if unit.compared is not None and unit.compared.answer is not None:
        yield answer_table(unit.compared.answer)
    if unit.boards:
        best = ranking_table(unit.boards)
        yield best
        title = "Mean gap to the optimum"
        yield _figure(MAIN_RESULT, title, f"{best.note} {_PALE}", lambda: ranking_figure(best))
    yield from leaderboards(unit.boards)
    yield from other_boards(unit)
    yield run_statuses.failures(unit.rows[~unit.rows["superseded"]])
    yield gaps.gaps_to_optimum(scheduled)
    yield gaps.gaps_to_bounds(scheduled)
    swept = _SWEPT + (_IN_SECONDS if unit.batch_time else "")
    told = [each for each in unit.panels if each.of_prediction]
    own = [each for each in unit.panels if not each.of_prediction]
    for slug, title, panels in (
        ("parameters", "Gap against a parameter", own),
        ("predictions", "What predictions are worth", told),
    ):
        note = swept + spread_note(*(each.spreads for each in panels), mark="Half a bar")
        yield _figure(slug, title, note, partial(parameter_figure, panels))
    yield prediction_table(told)
    yield ratios.competitive_ratios(unit.averaged)
    yield gaps.gaps_to_optimum(scheduled, engines=True)
    yield gaps.gaps_to_bounds(scheduled, engines=True)
    for common, what, quantity, least in (
        (unit.tel, "tel", "TEL", 1.5),
        (unit.seconds, "time", "seconds to a proof", 10),
    ):
        title, note = f"Performance profiles: {quantity}", f"{PROFILE_NOTE} {common.note()}"
        draw = partial(profile_figure, common, quantity, least)
        yield _figure(f"{what}-profiles", title, note, draw)


_PALE = "Pale: the part of the gap that no bound decides."
_SWEPT = (
    "Mean gap to the best known schedule of a policy with three values of a parameter or more, "
    "over the instances of all curves of a panel; pale: up to the gap to the bound. A run without "
    f"a schedule counts as 100 %. Horizontal: the best online {BLIND} policy (dashed), the best "
    f"online {CLAIRVOYANT} policy (dotted), and {BASE} if it is neither (dash-dotted)."
)
_IN_SECONDS = f" p99 TTFT: an axis may be logarithmic. Goodput: requests/s that keep {SERVER_SLO}."


def _figure(
    slug: str, title: str, note: str, draw: Callable[[], Drawing | None]
) -> ReportFigure | None:
    made = try_drawing(f"figure {slug}", draw)
    return None if made is None else ReportFigure(slug, title, note, made)


def _summary(results: Results) -> str:
    rows, reference = results.rows, results.reference
    replaced = int(rows["superseded"].sum())
    unread = int(reference["sha"].str.startswith("unread ").sum()) if len(reference) else 0
    instances = plural(len(reference) - unread, "instance")
    parts = [
        plural(len(rows), "stored run"),
        f"{replaced:,} of them replaced by later ones" if replaced else "",
        f"{instances} ({int(reference['opt'].notna().sum()):,} with OPT)",
        f"{plural(unread, 'instance')} that could not be read" if unread else "",
        plural(results.runs["label"].nunique(), "method"),
    ]
    return ", ".join(filter(None, parts)) + "."


@click.command(
    "python -m reports.build",
    cls=Command,
    fails={2: (ExportError, StoreError, OutputError, OSError, ValueError)},
    examples=(
        "--store results/runs.sqlite --out results/report",
        "--store rows.csv --out report --check",
    ),
    codes="0 done; 1 --check found a difference, or a file could not be written; 2 bad usage or "
    "input; 5 the reports are written, but rows contradict each other",
)
@option("--store", "FILE", "a store, or rows (.csv, .parquet)", required=True)
@option("--out", "DIR", "where to write", Path, required=True)
@count_option("--pages", MOST_PAGES, "most instances with a page")
@count_option("--pictures", MOST_PICTURES, "most pictures of schedules, with the worst always")
@CHECK_OPTION
@QUIET_OPTION
def main(options: CommandOptions) -> int:
    """Build the reports of stored runs."""
    frame = read_rows(options.store)
    if not options.check:
        check_place("--out", options.out, inputs=store_files(options.store))
    chosen = {"pages": options.pages, "pictures": options.pictures}
    with documents(options.store) as store:
        report = make_report(Results(frame, known_values()), store=store, **chosen)
    for line in report.contradictions:
        print(f"CONTRADICTION {line}", file=sys.stderr)
    files = whole(report)
    if options.check:
        made = {options.out / name: text for name, text in files.items()}
        code = regenerate(options.program, made, report_files(options.out), check=True)
    else:
        try:
            print(f"{plural(len(write_files(options.out, files)), 'file')} in {options.out}")
            code = 0
        except (OSError, OutputError) as error:
            complain(options.program, error)
            code = 1
    return code or (5 if report.contradictions else 0)


if __name__ == "__main__":
    sys.exit(main())
