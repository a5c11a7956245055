"""Command: the tables of a night and its losses, ``python -m reports.nightly``."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click
import pandas as pd

from kvopt.best_known import RegistryError, known_values
from kvopt.methods.grammar import MethodError
from kvopt.project_paths import REPORT_MARKER
from kvopt.store import Store, StoreError
from kvopt.store.location import store_files
from kvopt.suites import SuiteError, read_suite
from kvopt.sweeps.plan import plan
from reports.freshness import stale_rows, to_be_stated
from reports.nightly.compare import compare
from reports.nightly.night_pages import WORTH_PAGE, comparison_text, readme_text, texts, worth_pages
from reports.nightly.night_rows import FILES, RowsError, nightly_rows, read_rows, rows_text
from reports.report_folder import FolderKind, check_place, list_text, report_files, write_files
from support.click_command import CHECK_OPTION, Command, CommandOptions, option
from support.generated_files import regenerate
from support.output_checks import OutputError
from support.project_root import ROOT, require_checkout
from support.usage_errors import UsageError

FOLDER = Path(__file__).parent
ROWS, WORTH = FILES
#: The page that shows the main result.
README = ROOT / "README.md"
_COMPARISON = "COMPARISON.md"
_NIGHT = FolderKind(
    name="night",
    files=("README.md", ROWS, WORTH, _COMPARISON),
    folders={"tables": (".md",), "anytime": (".md",), "figures": (".svg",)},
)

_PROGRAM = "python -m reports.nightly"
_FAILS = (OutputError, StoreError, SuiteError, MethodError, RowsError, RegistryError, OSError)


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: _FAILS},
    examples=("--check", "--store night.sqlite --out night", "--store night.sqlite --update"),
    codes="0 as good as the committed rows; 1 the night failed, or --check found a stale file; "
    "2 bad usage, or a store or file that cannot be read",
)
@option("--store", "FILE", "in which the suite has been run")
@option("--suite", "SUITE", "(default: nightly)", default="nightly")
@option("--out", "DIR", "where the tables go", Path)
@option("--update", is_flag=True, help="replace the committed tables, with --store the rows too")
@CHECK_OPTION
def main(options: CommandOptions) -> int:
    """Build the nightly tables and compare them with the committed rows."""
    if options.check:
        return _check()
    if (options.out is None) == (not options.update) or (options.out and options.store is None):
        wanted = "--check, --update, or --store STORE with either --out DIR or --update"
        raise UsageError(f"expected {wanted}")
    if options.update:
        require_checkout("--out DIR names another folder")
    name = WORTH if Path(options.suite).stem == "predictions" else ROWS
    rows = _committed()
    reference = rows.get(name)
    if options.store is not None:
        rows[name] = _stored(options.store, options.suite, FILES[name])
    if ROWS not in rows:
        raise RowsError(f"{FOLDER / ROWS}: expected rows of the night, found none")
    if options.out is not None:
        check_place("--out", options.out, _NIGHT, [*store_files(options.store), FOLDER / ROWS])
    comparison = None if reference is None else compare(reference, rows[name], known_values())
    files, readme = _made(rows, {})
    files |= {each: rows_text(held) for each, held in rows.items()}
    if comparison is not None and not options.update:
        files[_COMPARISON] = comparison_text(comparison)
    write_files(FOLDER if options.update else options.out, files, _NIGHT)
    if options.update:
        for path, text in readme.items():
            path.write_text(text, "utf-8")
    if options.store is None:
        return 0
    if comparison is None:
        print(f"no {name} to compare with")
        return 0
    for line in comparison.failures:
        print(f"{_PROGRAM}: FAILED: {line}", file=sys.stderr)
    print(comparison_text(comparison).split("\n\n")[1])
    # The user has looked at rows that replace the reference.
    return 1 if comparison.failures and not options.update else 0


def _committed() -> dict[str, pd.DataFrame]:
    """Return the committed rows by file; RowsError if one cannot be read."""
    return {k: read_rows(FOLDER / k, named) for k, named in FILES.items() if (FOLDER / k).exists()}


def _made(
    rows: Mapping[str, pd.DataFrame], stale: Mapping[str, int]
) -> tuple[dict[str, str], dict[Path, str]]:
    """Return the files of the folder, and the README of the checkout; none for tables elsewhere."""
    night, of_night, known = rows[ROWS], stale.get(ROWS), known_values()
    worth = worth_pages(rows[WORTH], stale.get(WORTH)) if WORTH in rows else None
    files, readme = texts(night, known, of_night, worth), {}
    if README.is_file() and FOLDER.is_relative_to(ROOT):
        readme[README] = readme_text(README.read_text("utf-8"), night, known, of_night, worth)
    return files, readme


def _stored(location: str, name: str, named: Sequence[str]) -> pd.DataFrame:
    """Return the rows of the suite as it is planned now; RowsError if a run is not stored."""
    suite = read_suite(name)
    sections = {task.key: task.section for task in plan(suite.sections)}
    with closing(Store(location, readonly=True)) as store:
        frame = store.rows(list(sections))
    if len(frame) < len(sections):
        raise RowsError(
            f"{location}: {len(sections) - len(frame)} of {len(sections)} runs of {name} are not "
            f"stored for the present sources: python evaluate.py {name} --store {location}"
        )
    return nightly_rows(frame, suite, sections, named)


def _check() -> int:
    rows, stale = _committed(), {}
    for (name, held), page in zip(rows.items(), ("README.md", WORTH_PAGE), strict=False):
        stale[name] = to_be_stated(_PROGRAM, FOLDER / page, len(held), stale_rows(held))
    files, readme = _made(rows, stale)
    files[REPORT_MARKER] = list_text([*files, *rows], _NIGHT)
    wanted = {FOLDER / name: text for name, text in files.items()} | readme
    return regenerate(_PROGRAM, wanted, report_files(FOLDER, _NIGHT), check=True)


if __name__ == "__main__":
    sys.exit(main())
