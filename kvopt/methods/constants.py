"""The numbers that tune a method: constants in the sources of its rooms."""

import ast
from dataclasses import dataclass
from pathlib import Path

from kvopt.methods.fingerprint import room_files, rooms_of
from kvopt.methods.method import Method
from kvopt.methods.python_files import parse_file
from support.project_root import ROOT

#: Folders whose numbers change schedules or bounds.
_FOLDERS = ("formulations/", "heuristics/", "kvopt/engines/")
#: Nodes of a number: arithmetic, other constants, and calls such as Fraction(1, 3).
_WRITTEN = (
    ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Constant, ast.Tuple, ast.Load,
    ast.Name, ast.Attribute, ast.Call, ast.keyword,
)  # fmt: skip


@dataclass(frozen=True)
class Constants:
    """One assignment of numbers to names, with the comment above it."""

    path: Path
    text: str
    meaning: str


def constants(method: Method) -> tuple[Constants, ...]:
    """Return the public constants of a method's rooms, without other policies and models."""
    policy = "" if method.call is None else method.call.policy.name.replace("-", "_")
    others = {"policies", *(({"mip", "cp", "search"} - {method.solves}) if method.solves else ())}
    return tuple(
        Constants(path, ast.unparse(node), _above(path, node.lineno - 1))
        for path in sorted({path for room in rooms_of(method) for path in room_files(room)})
        if path.relative_to(ROOT).as_posix().startswith(_FOLDERS)
        if path.parent.name not in others or path.stem == policy
        for node in parse_file(path).body
        if isinstance(node, ast.Assign) and _are_numbers(node)
    )


def _are_numbers(node: ast.Assign) -> bool:
    names = {each.id for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)}
    pieces = list(ast.walk(node.value))
    values = [each.value for each in pieces if isinstance(each, ast.Constant)]
    public = all(name.isupper() and name[0] != "_" for name in names)
    numbers = values != [] and all(isinstance(value, int | float) for value in values)
    return public and numbers and all(isinstance(each, _WRITTEN) for each in pieces)


def _above(path: Path, line: int) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    first = line
    while first and lines[first - 1].startswith("#:"):
        first -= 1
    return " ".join(each.removeprefix("#:").strip() for each in lines[first:line])
