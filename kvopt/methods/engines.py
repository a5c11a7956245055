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
from functools import cache
from pathlib import Path
from typing import Annotated, TypeGuard, get_args

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from formulations.registry import Kind
from kvopt.methods.sources import parse_file

_FOLDER = Path(__file__).resolve().parents[1] / "engines"
#: Takes every name that Pyomo lists and that is none of the table's.
_PYOMO = "pyomo-solver"


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Engine:
    """An engine as its file declares it; ``module`` is imported in an engine's process."""

    name: str
    module: str
    summary: Annotated[str, Field(min_length=1)]
    solves: Kind | None
    named: bool
    default: bool = False
    proof: str = ""


@cache
def engines() -> dict[str, Engine]:
    """Return all engines by name, sorted, or raise TypeError for a wrong declaration."""
    found: dict[str, Engine] = {}
    for path in sorted(_FOLDER.glob("[!_]*.py")):
        tree = parse_file(path, head=True)
        literals = [node.value for node in tree.body if _is_declaration(node)]
        if not literals:
            continue
        name, summary = path.stem.replace("_", "-"), (ast.get_docstring(tree) or "").split("\n")[0]
        try:
            declared = dict(ast.literal_eval(literals[0]))
            found[name] = Engine(name, f"kvopt.engines.{path.stem}", summary, **declared)
        except (TypeError, ValueError):
            raise TypeError(
                f"{path}: expected ENGINE with solves ({', '.join(get_args(Kind))} or None), named "
                f"and, if at all, default and proof, found {ast.unparse(literals[0])}"
            ) from None
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


def _is_declaration(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ENGINE"
