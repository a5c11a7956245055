"""The formulations, found in ``mip``, ``cp``, ``search`` and ``bounds``: one file each.

The files are read, not imported, so that listing them loads no solver and no modelling language.
A file may define, or import from another formulation, a dataclass ``Options``: each of its fields
is a bool or an int with a default, followed by one line in quotes that says what it switches.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent

Kind = Literal["mip", "cp", "bound", "search"]
#: Folder of each kind.
_FOLDERS: dict[Kind, str] = {"bound": "bounds", "cp": "cp", "mip": "mip", "search": "search"}


@dataclass(frozen=True)
class Option:
    """A strengthening that can be switched (bool) or set (int), its default and its meaning."""

    name: str
    default: bool | int
    meaning: str


#: What every integer program can be told besides its own options; no file defines it.
RELAXED = Option("relaxed", False, "solve its LP relaxation only: a bound")


@dataclass(frozen=True)
class Formulation:
    """A formulation as the command line knows it.

    Attributes
    ----------
    name
        The file's name with hyphens, after ``bound-`` for those in ``bounds``.
    kind
        ``mip`` (a Pyomo model, for HiGHS and every other solver that Pyomo knows), ``cp``,
        ``search`` (a search of our own) or ``bound`` (a file of ``bounds`` with a function
        ``compute_bound``).
    relaxation
        Whether it yields a bound only.
    module
        What to import inside an engine's process.
    summary
        First line of the file's docstring.
    options
        What can be switched, in the file's order; of an integer program ``relaxed`` too.
    """

    name: str
    kind: Kind
    relaxation: bool
    module: str
    summary: str
    options: tuple[Option, ...] = ()


@cache
def formulations() -> dict[str, Formulation]:
    """Return all formulations by name, sorted.

    Raises
    ------
    TypeError
        If a file has no docstring, or an option no default that is a bool or an int.
    """
    found = {}
    for kind, folder in _FOLDERS.items():
        for path in sorted((_FOLDER / folder).glob("[!_]*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if kind == "bound" and not _computes_bound(tree):
                continue
            docstring = ast.get_docstring(tree)
            if not docstring:
                raise TypeError(f"formulations/{folder}/{path.name}: expected a docstring")
            name = path.stem.replace("_", "-")
            if kind == "bound":
                name = f"bound-{name}"
            relaxation = kind == "bound" or _is_relaxation(tree)
            relaxed = (RELAXED,) if kind == "mip" and not relaxation else ()
            found[name] = Formulation(
                name=name,
                kind=kind,
                relaxation=relaxation,
                module=f"formulations.{folder}.{path.stem}",
                summary=docstring.splitlines()[0],
                options=(*_options(tree, path), *relaxed),
            )
    return dict(sorted(found.items()))


def _computes_bound(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "compute_bound" for node in tree.body
    )


def _is_relaxation(tree: ast.Module) -> bool:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "RELAXATION" for target in node.targets
        ):
            return bool(ast.literal_eval(node.value))
    return False


def _options(tree: ast.Module, path: Path) -> tuple[Option, ...]:
    """Return the fields of the file's ``Options``, its own or imported."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Options":
            return tuple(_fields(node, path))
        if isinstance(node, ast.ImportFrom) and any(
            (each.asname or each.name) == "Options" for each in node.names
        ):
            origin = _FOLDER.parent / f"{str(node.module).replace('.', '/')}.py"
            return _options(ast.parse(origin.read_text(encoding="utf-8")), origin)
    return ()


def _fields(definition: ast.ClassDef, path: Path) -> Iterator[Option]:
    following = [*definition.body[1:], None]
    for node, after in zip(definition.body, following, strict=True):
        if not isinstance(node, ast.AnnAssign):
            continue
        name = ast.unparse(node.target)
        default = ast.literal_eval(node.value) if node.value else None
        if not isinstance(default, int):
            raise TypeError(f"{path.name}: expected a bool or an int as default of {name}")
        yield Option(name, default, _text(after))


def _text(node: ast.stmt | None) -> str:
    """Return the text if the statement is nothing but a text in quotes."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return str(node.value.value)
    return ""
