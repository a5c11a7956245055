"""The engines, found in ``kvopt/engines``: one file each, so adding a solver is adding a file.

The files are read, not imported, so that naming them loads no solver.  A file with a function
``solve(job, report)`` is an engine if it says what it is in one literal::

    ENGINE = {"solves": "mip", "named": True, "default": True, "proof": "HiGHS"}

``solves`` is the kind of formulation that it takes, None if it takes none; ``named`` says whether a
user may name it.  Two may be left out: ``default`` says that it gets the formulations of its kind
where no engine is named, ``proof`` is the source of the bounds that its own search proves, which
makes it a witness of an optimum.  It stands above all functions.  Its name is that of the file, its
summary the docstring's first line.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from formulations.registry import Kind
from kvopt.methods.sources import parse_file

_FOLDER = Path(__file__).resolve().parents[1] / "engines"
#: Takes every name that Pyomo lists and that is none of the table's.
_PYOMO = "pyomo-solver"


@dataclass(frozen=True)
class Engine:
    """An engine as its file declares it; ``module`` is imported in an engine's process."""

    name: str
    module: str
    summary: str
    solves: Kind | None
    named: bool
    default: bool = False
    proof: str = ""


@cache
def engines() -> dict[str, Engine]:
    """Return all engines by name, sorted, or raise TypeError of a wrong declaration."""
    found: dict[str, Engine] = {}
    for path in sorted(_FOLDER.glob("[!_]*.py")):
        tree = parse_file(path, head=True)
        declared = _declaration(tree, path)
        if declared is None:
            continue
        summary = (ast.get_docstring(tree) or "").partition("\n")[0]
        if not summary:
            raise TypeError(f"{path}: expected a docstring")
        name = path.stem.replace("_", "-")
        found[name] = Engine(name, f"kvopt.engines.{path.stem}", summary, **declared)
    for kind in get_args(Kind):
        defaults = [each.name for each in found.values() if each.default and each.solves == kind]
        if len(defaults) > 1:
            raise TypeError(f"{_FOLDER}: several defaults for {kind}: {', '.join(defaults)}")
    return found


def named_engines() -> dict[str, Engine]:
    """Return the engines that a user may name, sorted."""
    return {name: each for name, each in engines().items() if each.named}


def engine_of(solver: str) -> Engine:
    """Return the engine that runs a solver: its own, or the one for all that Pyomo lists."""
    return engines().get(solver) or engines()[_PYOMO]


def default_engine(kind: Kind) -> Engine:
    """Return the engine of formulations where none is named, or raise LookupError without one."""
    for each in engines().values():
        if each.default and each.solves == kind:
            return each
    raise LookupError(f"no engine is the default for {kind} formulations")


def proofs() -> dict[str, str]:
    """Return the source of the bounds that an engine's own search proves, by engine."""
    return {name: each.proof for name, each in engines().items() if each.proof}


def _declaration(tree: ast.Module, path: Path) -> dict[str, Any] | None:
    """Return the checked literal ``ENGINE`` of a file; None without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ENGINE":
            try:
                declared = ast.literal_eval(node.value)
            except ValueError:
                declared = None
            if not _is_declaration(declared):
                raise TypeError(
                    f"{path}: expected ENGINE with solves ({', '.join(get_args(Kind))} or None), "
                    f"named and, if at all, default and proof, found {ast.unparse(node.value)}"
                )
            return dict(declared)
    return None


def _is_declaration(declared: object) -> bool:
    if not isinstance(declared, dict) or not {"solves", "named"} <= declared.keys():
        return False
    kinds = {"named": bool, "default": bool, "proof": str}
    return all(
        value in (*get_args(Kind), None) if key == "solves" else type(value) is kinds.get(key)
        for key, value in declared.items()
    )
