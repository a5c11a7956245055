"""What the two tiers of tests protect: mutants of the sources, and the test that catches each.

    python -m tests.mutants                run what has no row yet, write a row for each
    python -m tests.mutants --tier slow    the slow tests, on what the quick ones let pass

Each change that ``tests/mutated.py`` draws is made alone, in a copy of the project, and tests run
there until one fails, those whose imports lead to the changed module soonest first.  Libraries for
this mutate whole modules or wrap functions in switches, which kernels of numba do not survive.

A row is of a commit.  A mutant that the tests let pass is run again at a later one, and its rows
then say what was caught before and after, unless a note says why no test can tell.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from kvopt.methods.sources import read_source
from kvopt.places import PACKAGES
from support.compiling import kernel_folder
from tests.mutated import ROOT, Mutant, drawn

ROWS = ROOT / "tests" / "mutants.csv"
#: Seconds for all tests of a tier; a mutant that makes them longer is caught.
LIMIT = 3600
#: Bytes that a process of tests may take; a mutant that doubles a buffer for ever is caught.
MEMORY = 8 * 1024**3
#: Files of tests that are collected before the others.
NEAREST = 20
TIERS = {"quick": "not slow", "slow": "slow"}


@dataclass(frozen=True)
class Row:
    """What became of a mutant in a tier at a commit: the test that catches it, or none.

    ``note`` says of a mutant that none catches why none can.
    """

    digest: str
    file: str
    line: int
    kind: str
    before: str
    after: str
    tier: str
    commit: str
    test: str
    seconds: int
    note: str = ""


def by_distance(file: str, root: Path = ROOT) -> list[str]:
    """Return the files of tests, those first from which fewest imports lead to a file."""
    paths = [p for name in (*PACKAGES, "tests") for p in sorted((root / name).rglob("*.py"))]
    names = {".".join(p.relative_to(root).with_suffix("").parts): p for p in paths}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    importers: dict[str, list[str]] = {name: [] for name in names}
    for name, path in names.items():
        for imported in read_source(path).imports & names.keys():
            importers[imported].append(name)
    (begin,) = [name for name, path in names.items() if path == root / file]
    distances, reached = {begin: 0}, [begin]
    for name in reached:
        for importer in importers[name]:
            if importer not in distances:
                distances[importer] = distances[name] + 1
                reached.append(importer)
    near = f"tests/{file.split('/')[0]}/"
    tests = {path.relative_to(root).as_posix(): name for name, path in names.items()}
    chosen = [test for test in tests if re.fullmatch(r"tests/.*\btest_\w+\.py", test)]
    return sorted(
        chosen, key=lambda test: (distances.get(tests[test], 99), not test.startswith(near), test)
    )


def copy_project(folder: Path) -> None:
    """Copy what git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    # A test asks git for the files of the packages.
    for words in (["init", "-q"], ["add", "--all"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def run_tests(folder: Path, tier: str, tests: list[str], passed_over: list[str]) -> str | None:
    """Run tests in a copy until one fails; return that one, None where all pass."""
    words = [sys.executable, "-m", "pytest", "-x", "-m", TIERS[tier], "-p", "no:cacheprovider"]
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        # Kernels of mutants are of no use to anybody else.
        "NUMBA_CACHE_DIR": str(folder.with_name("kernels")),
    }
    try:
        ran = subprocess.run(
            [*words, *(f"--deselect={each}" for each in passed_over), "--timeout=300", *tests],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
    except subprocess.TimeoutExpired:
        return "the limit"
    if ran.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return None
    if ran.returncode in (pytest.ExitCode.USAGE_ERROR, -signal.SIGKILL, -signal.SIGTERM):
        raise SystemExit(f"{ran.stderr}{ran.returncode}: the tests did not run to their end")
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
    return failed[0] if failed else f"exit code {ran.returncode}"


def catch(folder: Path, mutant: Mutant, tier: str) -> str | None:
    """Return a test that fails with a mutant each time and without it passes; None if none does.

    Without it the source still differs, by a name that nobody reads: a test that tells stored
    proofs from other sources by a digest would fail with any change, and catches nothing.
    """
    path, passed_over = folder / mutant.file, list[str]()
    whole = path.read_bytes()
    harmless = whole + b"\n_OTHER_SOURCE = None\n"
    changed = whole[: mutant.start] + mutant.after.encode() + whole[mutant.end :]
    files = by_distance(mutant.file, folder)
    try:
        while True:
            path.write_bytes(changed)
            parts = (files[:NEAREST], files[NEAREST:])
            failures = (run_tests(folder, tier, part, passed_over) for part in parts)
            failed = next(filter(None, failures), None)
            if failed is None or not failed.startswith("tests/"):
                return failed
            again = run_tests(folder, tier, [failed], [])
            path.write_bytes(harmless)
            if again is not None and run_tests(folder, tier, [failed], []) is None:
                return failed
            passed_over.append(failed)
    finally:
        path.write_bytes(whole)


def read_rows(path: Path) -> list[Row]:
    """Read the rows that there are."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in found:
        row |= {name: int(row[name]) for name in ("line", "seconds")}
    return [Row(**row) for row in found]


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write all rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def is_to_run(rows: list[Row], tier: str, commit: str) -> bool:
    """Tell whether a mutant with these rows is to be run: the slow tests see what others let pass.

    No test and no note ends the rows of a tier, and not of this commit; or there are none.
    """
    quick, own = ([row for row in rows if row.tier == each] for each in ("quick", tier))
    if tier == "slow" and (not quick or quick[-1].test):
        return False
    return not own or not (own[-1].test or own[-1].note or own[-1].commit == commit)


def present_commit() -> str:
    """Return the commit that is checked out, with a + where files differ from it."""
    words = ["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"]
    ran = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def main(argv: list[str] | None = None) -> int:
    """Run what has no row yet."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--tier", choices=TIERS, default="quick")
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, default=ROWS)
    arguments = parser.parse_args(argv)
    tier, commit = arguments.tier, present_commit()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "copy"
        copy_project(folder)
        if (kernels := kernel_folder()) is not None:
            shutil.copytree(kernels, folder.with_name("kernels"))
        places = drawn(arguments.number, arguments.seed)
        order = {mutant.digest: position for position, mutant in enumerate(places)}
        for mutant in places:
            told = (mutant.digest, mutant.file, mutant.line, mutant.kind)
            rows = [row for row in read_rows(arguments.rows) if row.digest in order]
            mine = [row for row in rows if row.digest == mutant.digest]
            if not is_to_run(mine, tier, commit):
                continue
            begun = time.monotonic()
            test = catch(folder, mutant, tier)
            seconds = round(time.monotonic() - begun)
            row = Row(*told, mutant.before, mutant.after, tier, commit, test or "", seconds)
            write_rows(arguments.rows, sorted([*rows, row], key=lambda each: order[each.digest]))
            print(*told, test, seconds, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
