"""Command: the page of the library, ``python -m reports.library [--check | --html DIR]``."""

import sys
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from kvopt.best_known import RegistryError, known_values, read_registry
from kvopt.best_known.registry_entry import Registry
from kvopt.best_known.registry_verification import stale_proofs
from kvopt.store import StoreError
from kvopt.store.location import store_files
from kvopt.store.row_files import ExportError, documents, read_rows
from reports import markdown
from reports.freshness import to_be_stated
from reports.library import MOST_PICTURES
from reports.library.sentence import proofs, runs, stale_of, state
from reports.markdown import sentence_text
from reports.report_folder import check_place, write_files
from reports.tables.library_values import family_table, library_table
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
from support.usage_errors import UsageError

FOLDER = Path(__file__).parent
_PROGRAM = "python -m reports.library"
#: From the page to the library's files.
_LIBRARY = "../../instances"
_PROOFS = f"{_LIBRARY}/best_known"
#: The columns with links: from the page to a folder, and the column with the file's path there.
_LINKS = {
    "instance": (_LIBRARY, "file"),
    "upper": (_PROOFS, "schedule"),
    "certified": (_PROOFS, "certificate"),
}


def page_text(registry: Registry, stale: int) -> str:
    """Return the page as Markdown, which calls so many of the registry's proofs stale."""
    table = library_table(registry)
    frame = table.frame[table.frame["gap"] > 0]
    addresses = {
        key: [f"{folder}/{name}" if isinstance(name, str) else "" for name in frame[column]]
        for key, (folder, column) in _LINKS.items()
    }
    still = replace(table, title="Open instances", frame=frame).linked(addresses)
    age = sentence_text(stale_of(registry, stale))
    origin = f"## Runs\n\n{age}\n\n{sentence_text(runs(registry))}\n"
    first, last = f"{sentence_text(state(table))}\n", markdown.template("library")
    return markdown.page_text("The library", [first, still, family_table(table), origin, last])


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (RegistryError, OutputError, ExportError, StoreError, OSError, ValueError)},
    examples=("--check", "--html site/library"),
    codes="0 done; 1 --check found a stale page; 2 bad usage or input",
)
@CHECK_OPTION
@QUIET_OPTION
@option("--html", "DIR", "write sortable pages and their files there", Path)
@option("--store", "FILE", "with --html: runs that the instances' pages show too")
@count_option("--pictures", MOST_PICTURES, "with --html: most pictures of schedules")
def main(options: CommandOptions) -> int:
    """Write the library's page in the checkout, or all of it as HTML elsewhere."""
    registry = read_registry()
    if registry is None:
        raise UsageError("there is no registry of best known values")
    if options.html is not None:
        return _write_site(registry, options)
    if options.store is not None:
        raise UsageError("--store: expected --html DIR with it, found none")
    page, stale = FOLDER / "README.md", len(stale_proofs(registry))
    if options.check:
        stale = to_be_stated(_PROGRAM, page, len(proofs(registry)), stale)
    wanted = {page: page_text(registry, stale)}
    return regenerate(_PROGRAM, wanted, wanted, check=options.check)


def _write_site(registry: Registry, options: CommandOptions) -> int:
    # Loads the drawing: a second.
    from reports.library.library_site import SITE, library_pages

    inputs = store_files(options.store) if options.store else []
    check_place("--html", options.html, SITE, inputs)
    frame = read_rows(options.store) if options.store else pd.DataFrame()
    with documents(options.store) as store:
        files = library_pages(registry, known_values(), frame, store, options.pictures)
    print(f"{plural(len(write_files(options.html, files, SITE)), 'file')} in {options.html}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
