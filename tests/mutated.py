"""Changes of the sources by one operator, comparison, number, truth value or statement.

The changes drawn are those of ``FOLDERS`` with the smallest digests under a seed: nobody's choice,
and an edit elsewhere changes none of them.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from heapq import nsmallest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("formulations", "schedules", "kvopt/running")

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
    digest: str = ""


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
    """Draw from all files, each change as likely as any other."""
    keyed: list[tuple[str, Mutant]] = []
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        file, met = path.relative_to(ROOT).as_posix(), Counter[tuple[str, str, str]]()
        for mutant in mutants(file, path.read_text(encoding="utf-8")):
            words = (file, mutant.before, mutant.after)
            met[words] += 1
            digest = digest_of(seed, *words, met[words])
            keyed.append((digest, replace(mutant, digest=digest)))
    return [mutant for _, mutant in nsmallest(number, keyed, key=lambda pair: pair[0])]


def digest_of(seed: int, file: str, before: str, after: str, occurrence: int) -> str:
    """Return what decides whether a change is drawn; ``occurrence`` counts equal ones of a file."""
    text = f"{seed} {file} {before} {after} {occurrence}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
