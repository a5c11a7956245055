"""Command: the pages of the papers' experiments, ``python -m claims``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from claims.page import Page, pages
from claims.render import index_text, page_text
from claims.rows import joined, read_rows, suite_rows
from kvopt.methods.grammar import MethodError
from kvopt.store import StoreError
from kvopt.store.export import ExportError
from kvopt.suites import SuiteError, read_suite
from reports.freshness import stale_rows, to_be_stated
from reports.nightly.rows import RowsError, rows_text
from support.checkout import require_checkout
from support.command import CHECK_OPTION, Command, Options, argument, option
from support.committed import regenerate
from support.jsonfile import write_text
from support.text import unknown_name
from support.usage import UsageError

FOLDER = Path(__file__).parent
_PROGRAM = "python -m claims"


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (ExportError, StoreError, SuiteError, MethodError, RowsError, OSError)},
    examples=("--check", f"{next(iter(pages()))} --store results/runs.sqlite"),
    codes="0 done; 1 --check found a stale file; 2 bad usage, or rows that are damaged",
)
@argument("pages", nargs=-1, metavar="[PAGE]...")
@option("--store", metavar="FILE | URL", help="rows: a store, or .csv or .parquet")
@option("--suite", metavar="FILE", help="with --out: run in place of the page's own")
@option("--out", type=Path, metavar="DIR", help="where the page of the store's rows goes")
@CHECK_OPTION
def main(options: Options) -> int:
    """Write the pages of the papers' experiments from the committed rows.

    With --store, take the rows of the named pages first.
    """
    for name in options.pages:
        if name not in pages():
            raise UsageError(unknown_name("page", name, pages()))
    if options.check and (options.pages or options.store or options.out):
        raise UsageError("--check: looks at all pages, found another option")
    if bool(options.pages) != bool(options.store):
        raise UsageError("expected pages and the --store of their rows, or neither")
    if options.out is not None:
        return _elsewhere(options)
    if options.suite is not None:
        raise UsageError("--suite: goes with --out, since the committed rows are the page's own")
    if not options.check:
        require_checkout("--check writes nothing")
    for name in options.pages:
        _take(pages()[name], options.store)
    return _committed(check=options.check)


def rows_file(page: Page, folder: Path | None = None) -> Path:
    """Return where the rows of a page are, in its folder; where they are committed without one."""
    return (folder or FOLDER) / "rows" / f"{page.slug}.csv"


def _take(page: Page, store: str) -> None:
    """Add a store's rows to the committed ones of a page, and draw its figure anew."""
    suite = read_suite(page.suite)
    _write(FOLDER, page, joined(suite, read_rows(rows_file(page)), suite_rows(suite, store)))


def _write(folder: Path, page: Page, rows: pd.DataFrame) -> None:
    """Write rows and figure."""
    path = rows_file(page, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, rows_text(rows))
    if page.figure is not None and len(rows):
        write_text(folder / f"{page.slug}.svg", page.figure(read_rows(path)))


def _elsewhere(options: Options) -> int:
    if not options.pages:
        raise UsageError("--out: expected a page and a --store")
    for name in options.pages:
        page = replace(pages()[name], suite=options.suite or pages()[name].suite)
        rows = suite_rows(read_suite(page.suite), options.store)
        _write(options.out, page, rows)
        write_text(options.out / f"{name}.md", page_text(page, rows, page.judged(rows)))
    return 0


def texts(*, check: bool) -> dict[Path, str]:
    """Return every page and the index, as the committed rows give them.

    What is checked may call as many rows stale as it does, unless it calls itself current.
    """
    files, found, every, all_stale = {}, [], [], 0
    for page in pages().values():
        rows, path = read_rows(rows_file(page)), FOLDER / f"{page.slug}.md"
        stale = stale_rows(rows)
        if check:
            stale = to_be_stated(_PROGRAM, path, len(rows), stale)
        judged = page.judged(rows)
        files[path] = page_text(page, rows, judged, stale)
        found.append((page, judged))
        every.append(rows)
        all_stale += stale
    rows = pd.concat(every, ignore_index=True)
    return files | {FOLDER / "README.md": index_text(found, rows, all_stale)}


def _committed(*, check: bool) -> int:
    files = texts(check=check)
    for page in pages().values():
        path = FOLDER / f"{page.slug}.svg"
        if page.figure is None or not rows_file(page).exists():
            continue
        if not check:
            files[path] = page.figure(read_rows(rows_file(page)))
        else:
            # It is only looked for: its text depends on the drawing library's version.
            files[path] = path.read_text(encoding="utf-8") if path.exists() else ""
    present = [*FOLDER.glob("*.md"), *FOLDER.glob("*.svg")]
    return regenerate(_PROGRAM, files, present, check=check)


if __name__ == "__main__":
    sys.exit(main())
