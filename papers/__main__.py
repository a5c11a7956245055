"""Command ``python -m papers``: recompute statements, write the pages of experiments."""

import sys
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from kvopt.methods.grammar import MethodError
from kvopt.store import StoreError
from kvopt.store.row_files import ExportError
from kvopt.suites import SuiteError
from papers.experiment import ExperimentPage, pages
from papers.experiment_pages import index_text, page_text
from papers.experiment_rows import join_rows, read_rows, suite_rows
from papers.ledger.recompute import format_statements, recompute_all, recompute_statement
from papers.ledger.statements import LETTERS, statements
from reports.freshness import stale_rows, to_be_stated
from reports.nightly.night_rows import RowsError, rows_text
from support.click_command import (
    CHECK_OPTION,
    QUIET_OPTION,
    Command,
    CommandOptions,
    argument,
    option,
)
from support.generated_files import regenerate
from support.json_files import write_text
from support.message_text import find_name, unknown_name
from support.project_root import require_checkout
from support.usage_errors import UsageError

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
    "file; 2 bad usage, or damaged rows",
)
@argument("names", nargs=-1, metavar="[STATEMENT | PAGE]...")
@option(
    "--all", dest="everything", is_flag=True, help="compute every statement again, one line each"
)
@option("--plot", "FILE", "draw the schedules of a statement, .png or .svg")
@option("--store", "FILE | URL", "take the rows of PAGE from a store, .csv or .parquet")
@option("--suite", "FILE", "with --out: a custom suite instead of the page's", Path)
@option("--out", "DIR", "write the page of the store's rows into DIR", Path)
@CHECK_OPTION
@QUIET_OPTION
def main(options: CommandOptions) -> int:
    """Write the pages of the papers' experiments from the committed rows.

    --store takes the rows of each PAGE first.  A STATEMENT such as "J1 Theorem 5.3" is computed
    again.  A paper (J1, J2, W, C, K, A, F) lists its statements.
    """
    if options.check and (options.names or options.store or options.out):
        raise UsageError("--check: reads all pages, found another option")
    if options.everything:
        if options.names or options.plot:
            raise UsageError("--all: takes no statement and no --plot")
        return recompute_all()
    if options.plot or (options.names and not options.store):
        return _show(options)
    for name in options.names:
        if name not in pages():
            raise UsageError(unknown_name("page", name, pages()))
    if options.store and not options.names:
        raise UsageError("--store: expected the pages of its rows")
    if options.out is not None:
        return _write_elsewhere(options)
    if options.suite is not None:
        raise UsageError("--suite: expected --out, since committed rows come from the page's suite")
    if not options.check:
        require_checkout("--check writes nothing")
    for name in options.names:
        page = pages()[name]
        suite = page.read_suite()
        new = suite_rows(suite, options.store)
        _write(FOLDER, page, join_rows(suite, read_rows(rows_file(page)), new))
    return _regenerate_pages(check=options.check)


def _show(options: CommandOptions) -> int:
    """Compute a statement again, or list the statements of a paper."""
    given, known = " ".join(options.names), [*LETTERS, *statements()]
    if given in pages():
        raise UsageError(f"{given}: expected the --store of its rows")
    name = find_name(given, known)
    if given and name is None:
        raise UsageError(unknown_name("statement", given, known))
    if name in statements():
        return recompute_statement(name, options.plot)
    if name is None or options.plot:
        raise UsageError("--plot: expected a statement, found none")
    print(format_statements(name))
    return 0


def rows_file(page: ExperimentPage, folder: Path | None = None) -> Path:
    """Return the file of a page's rows, in the committed folder by default."""
    return (folder or FOLDER) / "rows" / f"{page.slug}.csv"


def _write(folder: Path, page: ExperimentPage, rows: pd.DataFrame) -> None:
    """Write the rows and the figure of a page."""
    path = rows_file(page, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, rows_text(rows))
    if page.figure is not None and len(rows):
        write_text(folder / f"{page.slug}.svg", page.figure(read_rows(path)))


def _write_elsewhere(options: CommandOptions) -> int:
    if not options.names:
        raise UsageError("--out: expected a page and a --store")
    for name in options.names:
        page = pages()[name]
        if options.suite is not None:
            page = replace(page, suite=options.suite)
        rows = suite_rows(page.read_suite(), options.store)
        _write(options.out, page, rows)
        write_text(options.out / f"{name}.md", page_text(page, rows, page.judge(rows)))
    return 0


def generate_pages(*, check: bool) -> dict[Path, str]:
    """Return every page and the index from the committed rows.

    ``check`` keeps the number of stale rows that a page states, unless it calls itself current.
    """
    files, found, every, all_stale = {}, [], [], 0
    for page in pages().values():
        rows, path = read_rows(rows_file(page)), FOLDER / f"{page.slug}.md"
        now = stale_rows(rows)
        stale = to_be_stated("papers", path, len(rows), now) if check else now
        judged = page.judge(rows)
        files[path] = page_text(page, rows, judged, stale)
        found.append((page, judged))
        every.append(rows)
        all_stale += stale
    rows = pd.concat(every, ignore_index=True)
    return files | {FOLDER / "README.md": index_text(found, rows, all_stale)}


def _regenerate_pages(*, check: bool) -> int:
    files = generate_pages(check=check)
    for page in pages().values():
        path = FOLDER / f"{page.slug}.svg"
        if page.figure is not None and rows_file(page).exists():
            # --check only looks for the file: SVG depends on the drawing library's version.
            found = path.read_text(encoding="utf-8") if check and path.exists() else ""
            files[path] = found if check else page.figure(read_rows(rows_file(page)))
    present = [*FOLDER.glob("*.md"), *FOLDER.glob("*.svg")]
    return regenerate(_PROGRAM, files, present, check=check)


if __name__ == "__main__":
    sys.exit(main())
