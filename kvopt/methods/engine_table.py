"""The engines, found in ``kvopt/engines``: one file each, so a new solver is a new file.

The files are read, not imported: a list of engines loads no solver.  An engine's file has a
function ``solve(job, report)`` and, above all functions, one literal::

    ENGINE = {"solves": "mip", "named": True, "default": True, "proof": "HiGHS"}

``solves`` is the kind of formulation that it takes, or None; users may name a ``named`` engine.
Two keys are optional.  A ``default`` engine gets the formulations of its kind.  ``proof`` is the
source of the bounds that its search proves, which makes it a witness of an optimum.
"""

import ast
from functools import cache
from pathlib import Path
from typing import TypeGuard

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from formulations.formulation_registry import Kind
from kvopt.methods.python_files import parse_file

_FOLDER = Path(__file__).resolve().parents[1] / "engines"
#: Runs every solver that Pyomo lists and that has no file.
_PYOMO = "pyomo-solver"


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
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
    """Return all engines by name, sorted."""
    found: dict[str, Engine] = {}
    for path in sorted(_FOLDER.glob("[!_]*.py")):
        tree = parse_file(path, head=True)
        name, summary = path.stem.replace("_", "-"), (ast.get_docstring(tree) or "").split("\n")[0]
        for node in filter(_is_declaration, tree.body):
            declared = ast.literal_eval(node.value)
            found[name] = Engine(name, f"kvopt.engines.{path.stem}", summary, **declared)
    return found


def named_engines() -> dict[str, Engine]:
    """Return the engines that a user may name, sorted."""
    return {name: each for name, each in engines().items() if each.named}


def engine_of(solver: str) -> Engine:
    """Return the engine that runs a solver: its own, or the one for all that Pyomo lists."""
    return engines().get(solver) or engines()[_PYOMO]


def default_engine(kind: Kind) -> Engine:
    """Return the engine of formulations where none is named."""
    return next(each for each in engines().values() if each.default and each.solves == kind)


def proofs() -> dict[str, str]:
    """Return the source of the bounds that an engine's search proves, by engine."""
    return {name: each.proof for name, each in engines().items() if each.proof}


def _is_declaration(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ENGINE"
