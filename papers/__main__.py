"""Command: statements computed again, and the pages of experiments: ``python -m papers``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from kvopt.methods.grammar import MethodError
from kvopt.store import StoreError
from kvopt.store.export import ExportError
from kvopt.suites import SuiteError
from papers.experiment import Page, pages
from papers.experiment_pages import index_text, page_text
from papers.experiment_rows import joined, read_rows, suite_rows
from papers.ledger.again import compute, compute_all, listed
from papers.ledger.model import LETTERS, statements
from reports.freshness import stale_rows, stated
from reports.nightly.rows import RowsError, rows_text
from support.checkout import require_checkout
from support.command import CHECK_OPTION, QUIET_OPTION, Command, Options, argument, option
from support.committed import regenerate
from support.jsonfile import write_text
from support.text import find_name, unknown_name
from support.usage import UsageError

FOLDER = Path(__file__).parent
_PROGRAM = "python -m papers"


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (ExportError, StoreError, SuiteError, MethodError, RowsError, OSError)},
    examples=(
        "--check",
        '"J1 Theorem 5.3" --plot theorem.svg',
        f"{next(iter(pages()))} --store results/runs.sqlite",
    ),
    codes="0 done, or in agreement with the verdict; 1 not in agreement, or --check found a stale "
    "file; 2 bad usage, or rows that are damaged",
)
@argument("names", nargs=-1, metavar="[STATEMENT | PAGE]...")
@option("--all", dest="everything", is_flag=True, help="compute every statement again, a line each")
@option("--plot", "FILE", "draw the schedules that show a statement, .png or .svg")
@option("--store", "FILE", "rows of PAGE: a store, or .csv or .parquet")
@option("--suite", "FILE", "with --out: run in place of the page's own", Path)
@option("--out", "DIR", "where the page of the store's rows goes", Path)
@CHECK_OPTION
@QUIET_OPTION
def main(options: Options) -> int:
    """Write the pages of the papers' experiments from the committed rows.

    With --store, take the rows of each PAGE first.  A STATEMENT such as "J1 Theorem 5.3" is shown
    and computed again, of a paper (J1, J2, W, C, K, A, F) the statements are listed.
    """
    if options.check and (options.names or options.store or options.out):
        raise UsageError("--check: looks at all pages, found another option")
    if options.everything:
        if options.names or options.plot:
            raise UsageError("--all: takes no statement and no --plot")
        return compute_all()
    if options.plot or (options.names and not options.store):
        return _show(options)
    for name in options.names:
        if name not in pages():
            raise UsageError(unknown_name("page", name, pages()))
    if options.store and not options.names:
        raise UsageError("--store: expected the pages that its rows are of")
    if options.out is not None:
        return _elsewhere(options)
    if options.suite is not None:
        raise UsageError("--suite: goes with --out, since the committed rows are the page's own")
    if not options.check:
        require_checkout("--check writes nothing")
    for name in options.names:
        page = pages()[name]
        suite = page.read_suite()
        new = suite_rows(suite, options.store)
        _write(FOLDER, page, joined(suite, read_rows(rows_file(page)), new))
    return _committed(check=options.check)


def _show(options: Options) -> int:
    """Compute a statement again, or list those of a paper."""
    given, known = " ".join(options.names), [*LETTERS, *statements()]
    if given in pages():
        raise UsageError(f"{given}: expected the --store of its rows")
    name = find_name(given, known)
    if given and name is None:
        raise UsageError(unknown_name("statement", given, known))
    if name in statements():
        return compute(name, options.plot)
    if name is None or options.plot:
        raise UsageError("--plot: expected a statement, found none")
    print(listed(name))
    return 0


def rows_file(page: Page, folder: Path | None = None) -> Path:
    """Return where the rows of a page are, in its folder; where they are committed without one."""
    return (folder or FOLDER) / "rows" / f"{page.slug}.csv"


def _write(folder: Path, page: Page, rows: pd.DataFrame) -> None:
    """Write rows and figure."""
    path = rows_file(page, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, rows_text(rows))
    if page.figure is not None and len(rows):
        write_text(folder / f"{page.slug}.svg", page.figure(read_rows(path)))


def _elsewhere(options: Options) -> int:
    if not options.names:
        raise UsageError("--out: expected a page and a --store")
    for name in options.names:
        page = pages()[name]
        if options.suite is not None:
            page = replace(page, suite=options.suite)
        rows = suite_rows(page.read_suite(), options.store)
        _write(options.out, page, rows)
        write_text(options.out / f"{name}.md", page_text(page, rows, page.judged(rows)))
    return 0


def texts(*, check: bool) -> dict[Path, str]:
    """Return every page and the index, as the committed rows give them.

    What is checked may call as many rows stale as it does.
    """
    files, found, every, all_stale = {}, [], [], 0
    for page in pages().values():
        rows, path = read_rows(rows_file(page)), FOLDER / f"{page.slug}.md"
        said = stated(path.read_text(encoding="utf-8")) if check and path.exists() else None
        stale = stale_rows(rows) if said is None else said
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
        if page.figure is not None and rows_file(page).exists():
            # To check it is only looked for: its text depends on the drawing library's version.
            found = path.read_text(encoding="utf-8") if check and path.exists() else ""
            files[path] = found if check else page.figure(read_rows(rows_file(page)))
    present = [*FOLDER.glob("*.md"), *FOLDER.glob("*.svg")]
    return regenerate(_PROGRAM, files, present, check=check)


if __name__ == "__main__":
    sys.exit(main())
