"""The formulations, found in ``mip``, ``cp`` and ``search``: adding one is adding a file.

The files are read, not imported, so that listing them loads no solver and no modelling language.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Formulation:
    """A formulation as the command line knows it.

    Attributes
    ----------
    name
        The file's name with hyphens.
    kind
        ``mip`` (a Pyomo model, for HiGHS and every other solver that Pyomo knows), ``cp`` or
        ``search`` (a search of our own).
    relaxation
        Whether it yields a bound only.
    module
        What to import inside an engine's process.
    summary
        First line of the file's docstring.
    """

    name: str
    kind: Literal["mip", "cp", "search"]
    relaxation: bool
    module: str
    summary: str


@cache
def formulations() -> dict[str, Formulation]:
    """Return all formulations by name, sorted.

    Raises
    ------
    TypeError
        If a file has no docstring.
    """
    found = {}
    kinds: tuple[Literal["mip", "cp", "search"], ...] = ("mip", "cp", "search")
    for kind in kinds:
        for path in sorted((_FOLDER / kind).glob("[!_]*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstring = ast.get_docstring(tree)
            if not docstring:
                raise TypeError(f"formulations/{kind}/{path.name}: expected a docstring")
            name = path.stem.replace("_", "-")
            found[name] = Formulation(
                name=name,
                kind=kind,
                relaxation=_is_relaxation(tree),
                module=f"formulations.{kind}.{path.stem}",
                summary=docstring.splitlines()[0],
            )
    return dict(sorted(found.items()))


def _is_relaxation(tree: ast.Module) -> bool:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "RELAXATION" for target in node.targets
        ):
            return bool(ast.literal_eval(node.value))
    return False
