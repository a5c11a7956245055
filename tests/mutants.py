"""What the two tiers of tests protect: mutants of the sources, and the test that catches each.

    python -m tests.mutants                run what has no row yet, write a row for each
    python -m tests.mutants --tier slow    the slow tests, on what the quick ones let pass

The places are drawn by a seed from all of `FOLDERS`, so the choice is nobody's; each is changed
alone, in a copy of the project, and tests run there until one fails, those whose imports lead to
the changed module soonest first.  Libraries for this mutate whole modules or wrap each function in
a switch, which kernels that numba compiles do not survive.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from instances.compiling import kernel_folder
from kvopt.methods.sources import read_source
from kvopt.places import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("formulations", "schedules", "kvopt/running")
ROWS = ROOT / "tests" / "mutants.csv"
#: Seconds for all tests of a tier; a mutant that makes them longer is caught.
LIMIT = 3600
#: Files of tests that are collected before the others.
NEAREST = 20
TIERS = {"quick": "not slow", "slow": "slow"}

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


Node = ast.expr | ast.stmt


@dataclass(frozen=True)
class Mutant:
    """One change of one file: bytes from ``start`` to ``end`` become other text."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int


@dataclass(frozen=True)
class Row:
    """What became of a mutant in a tier: the test that catches it, or none.

    ``note`` says of a mutant that none catches why none can.
    """

    number: int
    file: str
    line: int
    kind: str
    before: str
    after: str
    tier: str
    test: str
    seconds: int
    note: str = ""


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """Yield every change of a file's text."""
    tree = ast.parse(text)
    starts = [0]
    for line in text.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in _changeable(tree):
        for kind, place, changed in _changes(node):
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[(place.end_lineno or 0) - 1] + (place.end_col_offset or 0)
            new = ast.unparse(changed)
            after = new if isinstance(changed, ast.stmt) else f"({new})"
            yield Mutant(file, place.lineno, kind, ast.unparse(place), after, start, end)


def _changeable(node: ast.AST) -> Iterator[Node]:
    """Yield expressions and statements that run: no annotations, docstrings, decorators, texts."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr | ast.pattern) or _is_for_types(child):
                continue
            if isinstance(child, ast.AST):
                yield from _changeable(child)


def _is_for_types(node: object) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _changes(node: Node) -> Iterator[tuple[str, Node, ast.AST]]:
    """Yield what is changed of a node, and into what."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _ARITHMETIC:
            yield "arithmetic", node, _with(node, op=_ARITHMETIC[type(op)]())
        case ast.Compare(ops=ops):
            for position, each in enumerate(ops):
                other = [*ops[:position], _COMPARISONS[type(each)](), *ops[position + 1 :]]
                yield "comparison", node, _with(node, ops=other)
        case ast.Constant(value=bool(value)):
            yield "boolean", node, ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (("constant", node, _number(value + step)) for step in (1, -1))
        case ast.BoolOp(op=op):
            turned_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "boolean", node, _with(node, op=turned_op)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", node, operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "boolean", test, ast.UnaryOp(ast.Not(), test)
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called or isinstance(node, ast.AugAssign | ast.Continue | ast.Break):
        yield "dropped", node, ast.Pass()


def _number(value: int) -> ast.expr:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _with(node: ast.AST, **changed: object) -> ast.AST:
    copy = deepcopy(node)
    for name, value in changed.items():
        setattr(copy, name, value)
    return copy


def drawn(number: int, seed: int) -> list[Mutant]:
    """Draw places from all files, each place as likely as any other."""
    every = [
        mutant
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for mutant in mutants(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    return random.Random(seed).sample(every, number)


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
    """Return a test that fails with a mutant each time and without it passes; None if none does."""
    path, passed_over = folder / mutant.file, list[str]()
    whole = path.read_bytes()
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
            path.write_bytes(whole)
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
        row |= {name: int(row[name]) for name in ("number", "line", "seconds")}
    return [Row(**row) for row in found]


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write all rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def main(argv: list[str] | None = None) -> int:
    """Run what has no row yet."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--tier", choices=TIERS, default="quick")
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, default=ROWS)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "copy"
        copy_project(folder)
        if (kernels := kernel_folder()) is not None:
            shutil.copytree(kernels, folder.with_name("kernels"))
        for number, mutant in enumerate(drawn(arguments.number, arguments.seed)):
            told = (mutant.file, mutant.line, mutant.kind, mutant.before, mutant.after)
            rows = [row for row in read_rows(arguments.rows) if row.number != number]
            mine = [
                row
                for row in read_rows(arguments.rows)
                if (row.number, row.file, row.before, row.after)
                == (number, mutant.file, mutant.before, mutant.after)
            ]
            passes = any((row.tier, row.test) == ("quick", "") for row in mine)
            if any(row.tier == arguments.tier for row in mine) or (
                arguments.tier == "slow" and not passes
            ):
                continue
            begun = time.monotonic()
            test = catch(folder, mutant, arguments.tier)
            seconds = round(time.monotonic() - begun)
            mine.append(Row(number, *told, arguments.tier, test or "", seconds))
            write_rows(arguments.rows, sorted([*rows, *mine], key=lambda row: row.number))
            print(number, mutant.file, mutant.line, test, seconds, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
