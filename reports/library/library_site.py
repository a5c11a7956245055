"""The library as HTML: one sortable page, a page an instance, and the files that they link."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from instances.instance_files import format_instance, instance_document
from instances.instance_names import FOLDER as INSTANCES
from kvopt.best_known.library_and_ladder import LibraryInstance, LibraryWithLadder, library_by_hash
from kvopt.best_known.registry_entry import Registry
from kvopt.best_known.registry_files import proof_file
from kvopt.best_known.registry_verification import stale_proofs
from reports import html
from reports.library.sentence import runs, stale_of, state
from reports.page_parts import Links, PageWords, ReportPage
from reports.pages.instance_pictures import DocumentStore
from reports.pages.report_pages import report_pages, slugs
from reports.report_folder import FolderKind
from reports.stored_results import Results
from reports.table import Column, Table
from reports.tables.library_values import library_table
from support.progress import count_progress

SITE = FolderKind(
    name="library",
    files=("index.html",),
    folders={"instances": (".html", ".svg"), "files": (".json",)},
)
#: The linked files of each instance: column of the table, word, and the end of the file's name.
FILES = (
    ("file", "instance", ".instance.json"),
    ("schedule", "best schedule", ".schedule.json"),
    ("certificate", "certificate of the certified LB", ".bound.json"),
)


def page_slugs(table: Table) -> dict[str, str]:
    """Return the name of each instance's page by its hash, for the library's table."""
    names = list(zip(table.frame["instance"], table.frame["sha"], strict=True))
    return dict(zip(table.frame["sha"], slugs(names), strict=True))


def library_pages(
    registry: Registry,
    best_known: Mapping[str, Mapping[str, Any]],
    frame: pd.DataFrame,
    store: DocumentStore | None,
    pictures: int,
    above: Links = (),
) -> dict[str, str]:
    """Return the contents of every file of the site, by its path below the folder.

    ``best_known`` is of the same registry.  ``frame`` has rows, whose runs of the library's
    instances stand on their pages, and ``store`` their schedules.  After so many ``pictures`` no
    page gets any more; the widest gaps come first.  ``above`` is as in
    :class:`reports.page_parts.ReportPage`.
    """
    library = LibraryWithLadder(library_by_hash())
    table = library_table(registry)
    slug_of = page_slugs(table)
    table, texts = _with_files(table, slug_of, library)
    # A row an instance without method and result: the instance exists.
    named = table.frame.rename(columns={"sha": "instance_sha256"})
    named = named[["instance", "instance_sha256", "family", "n", "memory"]].assign(method="")
    results = Results(pd.concat([named, frame], ignore_index=True), best_known)
    rows = results.rows
    wrong = tuple(each for each in results.contradictions if each.sha in slug_of)
    # The library's name counts, whatever the runs call the instance.
    ran = rows["method"].ne("")
    own = dict(zip(rows.loc[~ran, "sha"], rows.loc[~ran, "id"], strict=True))
    mine = rows[ran & rows["sha"].isin(list(own))]
    made = report_pages(
        {own[sha]: slug for sha, slug in slug_of.items()},
        results,
        mine.assign(id=mine["sha"].map(own)),
        _Documents(library, store),
        pictures,
        named={},
        command="reports.library",
    )
    words = PageWords((state(table), stale_of(registry, len(stale_proofs(registry)))), notes=())
    index = ReportPage("kvopt: the library", (table, words), "", runs(registry), wrong, above=above)
    texts["index.html"] = html.index_page(index)
    links = tuple((word, f"../{address}") for word, address in above)
    for page in count_progress(made, "pages of instances written as HTML"):
        addresses = [(word, f"files/{page.slug}{ending}") for _, word, ending in FILES]
        files = tuple((word, f"../{name}") for word, name in addresses if name in texts)
        linked = replace(page, files=files)
        bar = links or (("The library", "../index.html"),)
        texts[f"instances/{page.slug}.html"] = html.instance_page(linked, bar)
        texts |= page.drawings("instances/")
    return texts


@dataclass(frozen=True)
class _Documents:
    """The library's instances, and the schedules of a store, if there is one."""

    library: Mapping[str, LibraryInstance]
    store: DocumentStore | None

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, None without one."""
        return None if self.store is None else self.store.schedule(key)

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance, None without one."""
        found = self.library.get(sha256)
        return None if found is None else instance_document(found.instance)


def _with_files(
    table: Table, slug_of: Mapping[str, str], library: Mapping[str, LibraryInstance]
) -> tuple[Table, dict[str, str]]:
    """Return the table with links to pages and files, and the contents of these files."""
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
                text = proof_file(INSTANCES, name).read_text(encoding="utf-8")
                files[addresses[column][-1]] = text
    shown = (*table.columns, Column("json", "instance file"))
    linked = replace(table, columns=shown, frame=frame.assign(json="JSON")).linked(
        {
            "instance": [f"instances/{slug_of[sha]}.html" for sha in frame["sha"]],
            "upper": addresses["schedule"],
            "certified": addresses["certificate"],
            "json": addresses["file"],
        }
    )
    return linked, files
