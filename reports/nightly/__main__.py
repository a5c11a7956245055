"""Command: the tables of a night and what is worse in them, ``python -m reports.nightly``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from instances.checkout import require_checkout
from instances.committed import regenerate
from instances.outputs import OutputError
from instances.usage import Parser, UsageError, complain
from kvopt.best_known import RegistryError, known_values
from kvopt.masking import mask_text
from kvopt.methods.grammar import MethodError
from kvopt.store import Store, StoreError
from kvopt.store.files import store_files
from kvopt.store.location import told_location
from kvopt.suites import SuiteError, read_suite
from kvopt.sweeps.plan import plan
from reports.folder import MARKER, Kind, check_place, list_text, report_files, write_files
from reports.nightly.compare import Comparison, compare
from reports.nightly.page import comparison_text, texts
from reports.nightly.rows import RowsError, nightly_rows, read_rows, rows_text

FOLDER = Path(__file__).parent
ROWS = "rows.csv"
_COMPARISON = "COMPARISON.md"
_NIGHT = Kind(
    name="night",
    files=("README.md", ROWS, _COMPARISON),
    folders={"tables": (".md",), "anytime": (".md",), "figures": (".svg",)},
    sign="# Nightly tables\n",
)

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2

_PROGRAM = "python -m reports.nightly"
_EPILOG = """\
exit codes: 0 as good as the committed rows; 1 the night failed, or --check found a stale file;
2 bad usage, or a store or file that cannot be read
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        return _run(arguments)
    except (
        UsageError,
        OutputError,
        StoreError,
        SuiteError,
        MethodError,
        RowsError,
        RegistryError,
    ) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")


def _run(arguments: Sequence[str] | None) -> int:
    options = _parse(arguments)
    if options.check:
        return _check()
    wanted = "expected --check, --update, or --store STORE with either --out DIR or --update"
    if (options.out is None) == (not options.update) or (options.out and options.store is None):
        raise UsageError(wanted)
    if options.update:
        require_checkout("--out DIR names another folder")
    if options.store is None:
        kept = (FOLDER / ROWS).read_text(encoding="utf-8")
        files = texts(read_rows(FOLDER / ROWS), known_values()) | {ROWS: kept}
        write_files(FOLDER, files, _NIGHT)
        return EXIT_OK
    now = _stored(options.store, options.suite)
    if options.out is not None:
        check_place("--out", options.out, _NIGHT, [*store_files(options.store), FOLDER / ROWS])
    reference = FOLDER / ROWS
    comparison = None
    if reference.exists():
        comparison = compare(read_rows(reference), now, known_values())
    out = FOLDER if options.update else options.out
    _write(now, comparison, out, update=options.update)
    if comparison is None:
        print(f"no {ROWS} to compare with")
        return EXIT_OK
    _tell(comparison)
    # What replaces the reference has been looked at by whoever asked for it.
    return EXIT_OK if comparison.passed or options.update else EXIT_FAILED


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(
        prog=_PROGRAM,
        description="Build the nightly tables and compare them with the committed rows.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", metavar="FILE | URL", help="in which the suite has been run")
    parser.add_argument("--suite", default="nightly", help="default: %(default)s")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the tables go")
    parser.add_argument(
        "--update",
        action="store_true",
        help="replace the committed rows and tables instead; without --store the tables only",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; tell whether the committed tables are those of the committed rows",
    )
    return parser.parse_args(arguments)


def _stored(location: str, name: str) -> pd.DataFrame:
    """Return the rows of the suite as it is planned now.

    Raises
    ------
    RowsError
        If a run is not stored.
    """
    suite = read_suite(name)
    sections = {task.key: task.section for task in plan(suite.sections)}
    store = Store(location, readonly=True)
    try:
        frame = store.rows(list(sections))
    finally:
        store.close()
    if len(frame) < len(sections):
        told = told_location(location)
        raise RowsError(
            f"{told}: {len(sections) - len(frame)} of {len(sections)} runs of {name} are not "
            f"stored for the present sources: python evaluate.py {name} --store {told}"
        )
    return nightly_rows(frame, suite, sections)


def _write(rows: pd.DataFrame, comparison: Comparison | None, out: Path, *, update: bool) -> None:
    files = texts(rows, known_values()) | {ROWS: rows_text(rows)}
    if comparison is not None and not update:
        files[_COMPARISON] = comparison_text(comparison)
    write_files(out, files, _NIGHT)


def _check() -> int:
    if not (FOLDER / ROWS).exists():
        return _fail(f"{FOLDER / ROWS}: there is none")
    files = texts(read_rows(FOLDER / ROWS), known_values())
    files[MARKER] = list_text([*files, ROWS], _NIGHT)
    wanted = {FOLDER / name: text for name, text in files.items()}
    return regenerate(_PROGRAM, wanted, report_files(FOLDER, _NIGHT), ["--check"])


def _tell(comparison: Comparison) -> None:
    for line in comparison.failures:
        print(f"{_PROGRAM}: FAILED: {line}", file=sys.stderr)
    print(comparison_text(comparison).split("\n\n")[1])


def _fail(line: str) -> int:
    complain(_PROGRAM, mask_text(line))
    return EXIT_BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
