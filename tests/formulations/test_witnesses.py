"""Two engines count as two witnesses of an optimum only if their models share no code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from formulations.registry import formulations

ROOT = Path(__file__).resolve().parents[2]
#: What every engine is told and judged by, and what knows nothing of the problem.
SHARED = ("instances", "schedules", "support")

#: Pairs whose agreement makes a best-known value ``opt``: a CP model and an integer program.
PAIRS = [
    ("cpsat", "ilp"),
    ("cpsat", "ilp-sparse"),
    ("cpsat-time", "ilp"),
    ("cpsat-time", "ilp-sparse"),
]


def _closure(module: str, types: bool = True) -> set[str]:
    """Return the project's files that a module imports, directly or not, wherever it does so.

    Parameters
    ----------
    types
        Whether imports for type checkers count, which no run carries out.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in found or path is None or name.split(".")[0] in SHARED:
            continue
        if name == "kvopt":
            continue  # imports for type checkers only, and loads nothing (``test_api``)
        # A package's docstring is no model code; one that imports or defines something is.
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if len(tree.body) > 1 or path.name != "__init__.py":
            found.add(name)
        for node in ast.walk(tree) if types else _without_types(tree):
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: expected absolute imports"
                waiting += [str(node.module), *(f"{node.module}.{a.name}" for a in node.names)]
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return found


def _without_types(tree: ast.AST) -> Iterator[ast.AST]:
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _without_types(child)


def _file(module: str) -> Path | None:
    base = ROOT / module.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_witnesses_share_no_model_code(first: str, second: str) -> None:
    """By the import statements, type checking included, the two models have no file in common."""
    closures = [_closure(formulations()[name].module) for name in (first, second)]
    for closure, name in zip(closures, (first, second), strict=True):
        assert formulations()[name].module in closure
    assert closures[0] & closures[1] == set()


def test_closures_find_what_is_shared() -> None:
    """Of models that do share code the common files are named: the check above can fail."""
    strong = _closure("formulations.cp.cpsat_strong")
    assert {"formulations.valid.windows", "formulations.valid.volumes"} <= strong
    assert "formulations.valid.windows" in strong & _closure("formulations.mip.ilp")
    # Imports inside a function count as well.
    assert "formulations.search._kernels" in _closure("formulations.search.layers")


def test_the_engine_of_the_cp_models_brings_no_model_code() -> None:
    """What runs a CP model in CP-SAT adds nothing of the formulations to its closure."""
    reached = _closure("kvopt.engines.cpsat", types=False)
    assert "kvopt.engines.job" in reached
    assert not {name for name in reached if name.startswith("formulations")}
