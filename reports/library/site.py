"""The library as HTML: one sortable page, a page an instance, and the files that they link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from instances.files import format_instance, instance_document
from instances.named import FOLDER as INSTANCES
from kvopt.best_known.entry import Registry
from kvopt.best_known.files import proof_file
from kvopt.best_known.library import LibraryInstance, WithLadder, library_by_hash
from kvopt.best_known.registry import stale_proofs
from reports import html
from reports.folder import Kind
from reports.library.sentence import runs, stale_of, state
from reports.page import Links, Page, Words
from reports.pages.instance import InstancePage
from reports.pages.picture import Documents
from reports.pages.report_pages import report_pages, slugs
from reports.results import Results
from reports.table import Column, Table
from reports.tables.library import library_table
from support.progress import telling

SITE = Kind(
    name="library",
    files=("index.html",),
    folders={"instances": (".html", ".svg"), "files": (".json",)},
)
TITLE = "kvopt: the library"
#: What is linked of each instance: column of the table, word, and what its file's name ends in.
FILES = (
    ("file", "instance", ".instance.json"),
    ("schedule", "best schedule", ".schedule.json"),
    ("certificate", "certificate of the certified LB", ".bound.json"),
)


def page_slugs(table: Table) -> dict[str, str]:
    """Return the name of each instance's page by its hash; of the library's table."""
    names = list(zip(table.frame["instance"], table.frame["sha"], strict=True))
    return dict(zip(table.frame["sha"], slugs(names), strict=True))


def library_pages(
    registry: Registry,
    best_known: Mapping[str, Mapping[str, Any]],
    frame: pd.DataFrame,
    store: Documents | None,
    pictures: int,
    above: Links = (),
) -> dict[str, str]:
    """Return what every file of the site holds, by its path below the folder.

    ``best_known`` is of the same registry.  ``frame`` has rows, whose runs of the library's
    instances stand on their pages, and ``store`` their schedules.  After so many ``pictures`` no
    page gets any more; the widest gaps come first.  ``above`` is as in :class:`reports.page.Page`.
    """
    library = WithLadder(library_by_hash())
    table = library_table(registry)
    slug_of = page_slugs(table)
    table, files = _with_files(table, slug_of, library)
    both = pd.concat([_listed(registry, library), frame], ignore_index=True)
    results = Results(both, best_known)
    rows = results.rows
    wrong = tuple(each for each in results.contradictions if each.sha in slug_of)
    # The library's own name counts, whatever the runs call the instance.
    ran = rows["method"].ne("")
    own = dict(zip(rows.loc[~ran, "sha"], rows.loc[~ran, "id"], strict=True))
    mine = rows[ran & rows["sha"].isin(list(own))]
    mine = mine.assign(id=mine["sha"].map(own))
    made = report_pages(
        {own[sha]: slug for sha, slug in slug_of.items()},
        results,
        mine,
        _Documents(library, store),
        pictures,
        command="reports.library",
    )
    shown = [_linked(page, files) for page in made]
    site = tuple((word, f"../{address}") for word, address in above)
    beside = site or (("The library", "../index.html"),)
    words = Words((state(table), stale_of(registry, len(stale_proofs(registry)))), note="")
    index = Page(TITLE, (table, words), origin=runs(registry), contradictions=wrong, above=above)
    texts = {"index.html": html.index_page(index)} | files
    for page in telling(shown, "pages of instances written as HTML"):
        texts[f"instances/{page.slug}.html"] = html.instance_page(page, beside)
        texts |= page.drawings("instances/")
    return texts


class _Documents:
    """The library's instances, and the schedules of a store, if there is one."""

    def __init__(self, library: Mapping[str, LibraryInstance], store: Documents | None) -> None:
        self._library = library
        self._store = store

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, None without one."""
        return None if self._store is None else self._store.schedule(key)

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance, None without one."""
        found = self._library.get(sha256)
        return None if found is None else instance_document(found.instance)


def _listed(registry: Registry, library: Mapping[str, LibraryInstance]) -> pd.DataFrame:
    """Return a row an instance that says only that it exists: no method, no result."""
    return pd.DataFrame(
        [
            {
                "instance": entry.instance,
                "instance_sha256": entry.sha256,
                "family": library[entry.sha256].instance.family or "",
                "n": entry.n,
                "memory": entry.memory,
                "method": "",
            }
            for entry in registry.instances
        ]
    )


def _with_files(
    table: Table, slug_of: Mapping[str, str], library: Mapping[str, LibraryInstance]
) -> tuple[Table, dict[str, str]]:
    """Return the table with links to pages and files, and what these files hold."""
    frame, files = table.frame, {}
    addresses: dict[str, list[str]] = {}
    for column, _, ending in FILES:
        addresses[column] = []
        for sha, name in zip(frame["sha"], frame[column], strict=True):
            known = isinstance(name, str)
            addresses[column].append(f"files/{slug_of[sha]}{ending}" if known else "")
            if known and column == "file":
                files[addresses[column][-1]] = format_instance(library[sha].instance)
            elif known:
                held = proof_file(INSTANCES, name).read_text(encoding="utf-8")
                files[addresses[column][-1]] = held
    note = (
        f"{table.note} The instance leads to its page, UB to the schedule, the certified LB to its "
        "certificate."
    )
    shown = (*table.columns, Column("json", "instance file"))
    linked = replace(table, note=note, columns=shown, frame=frame.assign(json="JSON")).linked(
        {
            "instance": [f"instances/{slug_of[sha]}.html" for sha in frame["sha"]],
            "upper": addresses["schedule"],
            "certified": addresses["certificate"],
            "json": addresses["file"],
        }
    )
    return linked, files


def _linked(page: InstancePage, files: Mapping[str, str]) -> InstancePage:
    addresses = [(word, f"files/{page.slug}{ending}") for _, word, ending in FILES]
    present = tuple((word, f"../{name}") for word, name in addresses if name in files)
    return replace(page, files=present)
