"""Additions of ``kvopt site`` to the documentation: leaderboard, library, first screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from kvopt.best_known.entry import Registry
from reports import html
from reports.boards import firsts
from reports.freshness import stale_rows, staleness, told
from reports.library.sentence import state
from reports.library.site import FILES, library_pages, page_slugs
from reports.markdown import grid_text, sentence_text
from reports.nightly.page import report_of
from reports.page import Page
from reports.results import BestKnown
from reports.rows import prepare
from reports.table import Table
from reports.tables.leaderboard import KNOWS
from reports.tables.library import library_table
from reports.verdict import Sentence

#: Open instances on the first screen, those with the widest gaps.
MOST_OPEN = 5
_NOTE = (
    "The first policy of each class, and its gap: the share of its own latency that the best known "
    "schedule would save, and at most the optimum, {over}.  What is marked * keeps tokens over "
    "evictions, an easier problem; below it is the first that does not."
)
_BEST = ("knows", "label", "gap")
_OPEN = ("instance", "n", "upper", "certified", "lower", "kind", "gap")
#: What stands above the pages that are not MkDocs'.
_ABOVE = (
    ("kvopt", "../index.html"),
    ("Leaderboard", "../leaderboard/index.html"),
    ("Library", "../library/index.html"),
    ("Papers", "../source/papers/index.html"),
)
_FIRST = """\
## Who is best, and what is open

{best}
{note}

{still}
**Open:** {state}

All of it, sortable and drawn: [leaderboard](leaderboard/index.html), [library](library/index.html).
What the papers state: [papers](../papers/README.md).  How the figures are made, and of which runs:
[METHOD](../reports/METHOD.md), [nightly tables](../reports/nightly/README.md).

{rows}
"""


@dataclass(frozen=True)
class Results:
    """Results to join with the documentation.

    ``files`` are texts by their path in the site, ``places`` where files of the repository lie in
    it, both as paths, and ``first`` is Markdown of the first screen.
    """

    files: Mapping[str, str]
    places: Mapping[str, str]
    first: str


def results(
    registry: Registry, best_known: BestKnown, night: pd.DataFrame, pictures: int
) -> Results:
    """Return leaderboard and library as pages, and who is best and what is open.

    ``night`` has rows of :func:`reports.nightly.rows.read_rows`; all else is as in
    :func:`reports.library.site.library_pages`.
    """
    library = library_table(registry)
    slug_of = page_slugs(library)
    ranked = report_of(night, best_known)
    links = _pages(night, slug_of)
    assert ranked.origin is not None
    board = replace(
        ranked,
        origin=Sentence((*ranked.origin.parts, " ", staleness(len(night), stale_rows(night)))),
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
    return Results(files, _places(library, slug_of), _first(ranked, library, slug_of, night))


def _pages(night: pd.DataFrame, slug_of: Mapping[str, str]) -> dict[str, str]:
    """Return the library's page of each instance of the rows that has one, by ``id``."""
    pairs = prepare(night.assign(key="")).drop_duplicates("id")[["id", "sha"]]
    return {i: slug_of[sha] for i, sha in pairs.itertuples(index=False) if sha in slug_of}


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


def _first(ranked: Page, library: Table, slug_of: Mapping[str, str], night: pd.DataFrame) -> str:
    ranks = [part for part in ranked.first if isinstance(part, Table)]
    found = pd.concat([firsts(board.frame) for board in ranks])
    best = _cut(replace(ranks[0], columns=(*ranks[0].columns, KNOWS)), _BEST, found)
    still = _cut(library, _OPEN, library.frame[library.frame["gap"] > 0].head(MOST_OPEN))
    pages = [f"library/instances/{slug_of[sha]}.html" for sha in still.frame["sha"]]
    return _FIRST.format(
        best=grid_text(best),
        note=_NOTE.format(over=found["over"].iloc[0]),
        state=sentence_text(state(library)),
        still=grid_text(still.linked({"instance": pages})),
        rows=told(night, stale_rows(night)),
    )


def _cut(table: Table, keys: tuple[str, ...], frame: pd.DataFrame) -> Table:
    by_key = {column.key: column for column in table.columns}
    return replace(table, columns=tuple(by_key[key] for key in keys), frame=frame)
