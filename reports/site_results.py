"""Additions of ``kvopt site`` to the documentation: leaderboard, library, first screen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from kvopt.best_known.registry_entry import Registry
from reports import html
from reports.freshness import age_text, origin_text, stale_rows
from reports.library.library_site import FILES, library_pages, page_slugs
from reports.library.sentence import state
from reports.markdown import grid_text, sentence_text, table_text, template
from reports.nightly.night_pages import report_of
from reports.page_parts import ReportPage
from reports.policy_boards import firsts
from reports.prepared_rows import prepare_rows
from reports.stored_results import BestKnown
from reports.table import Column, Table
from reports.tables.leaderboard import KNOWS, LEADERBOARD
from reports.tables.library_values import library_table
from reports.verdict_sentences import Sentence

#: Open instances on the first screen, those with the widest gaps.
MOST_OPEN = 5
_NOTE = (
    "The first policy of each class; after one that is marked * the first that is not. "
    "[All policies](leaderboard/index.html)."
)
_OPEN = ("instance", "n", "upper", "certified", "lower", "kind", "gap")
#: The bar of the pages that are not MkDocs'.
_ABOVE = (
    ("kvopt", "../index.html"),
    ("Leaderboard", "../leaderboard/index.html"),
    ("Library", "../library/index.html"),
    ("Papers", "../source/papers/index.html"),
)


@dataclass(frozen=True)
class SiteResults:
    """Results to join with the documentation.

    ``files`` are texts by their path in the site, ``places`` the paths in the site of files of the
    repository, and ``first`` is Markdown of the first screen.
    """

    files: Mapping[str, str]
    places: Mapping[str, str]
    first: str


def make_site_results(
    registry: Registry, best_known: BestKnown, night: pd.DataFrame, pictures: int
) -> SiteResults:
    """Return leaderboard and library as pages, and the first screen.

    ``night`` has rows of :func:`reports.nightly.night_rows.read_rows`; all else is as in
    :func:`reports.library.library_site.library_pages`.
    """
    library = library_table(registry)
    slug_of = page_slugs(library)
    ranked = report_of(night, best_known)
    pairs = prepare_rows(night.assign(key="")).drop_duplicates("id")[["id", "sha"]]
    links = {i: slug_of[sha] for i, sha in pairs.itertuples(index=False) if sha in slug_of}
    assert ranked.origin is not None
    age = age_text(len(night), stale_rows(night))
    board = replace(
        ranked,
        origin=Sentence((age, " ", *ranked.origin.parts)),
        title="kvopt: leaderboard",
        parts=tuple(
            replace(part, links=links) if isinstance(part, Table) else part for part in ranked.parts
        ),
        shelf="../library/instances/",
        above=_ABOVE,
    )
    shown = library_pages(registry, best_known, night, None, pictures, above=_ABOVE)
    files = {f"library/{path}": text for path, text in shown.items()}
    files["leaderboard/index.html"] = html.index_page(board)
    return SiteResults(files, _places(library, slug_of), _first(ranked, library, slug_of, night))


def _places(library: Table, slug_of: Mapping[str, str]) -> dict[str, str]:
    """Return the page of each instance, and its schedule and certificate, by their files."""
    places = {}
    for line in library.frame.to_dict("records"):
        slug = slug_of[line["sha"]]
        for column, _, ending in FILES:
            if isinstance(line[column], str):
                folder = "instances" if column == "file" else "instances/best_known"
                place = f"instances/{slug}.html" if column == "file" else f"files/{slug}{ending}"
                places[f"{folder}/{line[column]}"] = f"library/{place}"
    return places


def _first(board: ReportPage, table: Table, slug_of: Mapping[str, str], night: pd.DataFrame) -> str:
    ranks = [it for it in board.first if isinstance(it, Table) and it.slug.startswith(LEADERBOARD)]
    by_key = {column.key: column for column in ranks[0].columns}
    shown: tuple[Column, ...] = (KNOWS, by_key["label"], by_key["gap"])
    found = pd.concat([firsts(each.frame) for each in ranks])
    best = replace(ranks[0], note=_NOTE, columns=shown, frame=found)
    still = replace(
        table,
        columns=tuple(replace(each, note="") for each in table.columns if each.key in _OPEN),
        frame=table.frame[table.frame["gap"] > 0].head(MOST_OPEN),
    )
    pages = [f"library/instances/{slug_of[sha]}.html" for sha in still.frame["sha"]]
    return template("site").format(
        best=table_text(best),
        state=sentence_text(state(table)),
        still=grid_text(still.linked({"instance": pages})),
        rows=origin_text(night, stale_rows(night)),
    )
