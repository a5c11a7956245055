"""An edit changes the digest of what it can change, and of nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kvopt.methods.sources
from kvopt.methods.fingerprint import fingerprint, import_closure, versions
from kvopt.methods.grammar import Method, read_method

ROOT = Path(__file__).resolve().parents[3]
METHODS: tuple[str, ...] = (
    "svf",
    "fcfs",
    "a-min",
    "sorted-lp",
    "auto",
    "highs",
    "highs:ilp",
    "cpsat:cpsat",
)
METHODS += ("bound:bound-dual", "search")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources, which the digests are taken of."""
    for folder in ("instances", "schedules", "formulations", "heuristics", "kvopt"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.json", "__pycache__")
        )
    monkeypatch.setattr(kvopt.methods.sources, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        # svf is a warm start of every engine, and sorted-lp's horizon is its TEL.
        ("heuristics/policies/svf.py", set(METHODS) - {"fcfs", "a-min"}),
        ("heuristics/policies/a_min.py", {"a-min"}),
        ("heuristics/simulator.py", set(METHODS)),
        ("heuristics/listsearch.py", {"auto"}),
        # Which ilp-strong is built on.
        ("formulations/mip/ilp.py", {"highs", "highs:ilp"}),
        ("formulations/mip/ilp_strong.py", {"highs"}),
        # Where there are too many patterns for bound-patterns, whose prices the search uses.
        ("formulations/bounds/dual.py", {"auto", "bound:bound-dual", "search"}),
        # Every engine's start can choose a formulation.
        ("formulations/choice.py", set(METHODS) - {"svf", "fcfs", "a-min", "sorted-lp"}),
        ("kvopt/engines/cpsat.py", {"cpsat:cpsat"}),
        # auto repairs by CP-SAT, without that engine.
        ("kvopt/engines/repair.py", {"auto"}),
        ("kvopt/engines/search.py", {"auto", "search"}),
        ("kvopt/engines/highs.py", set(METHODS) - {"svf", "fcfs", "a-min"} - set(METHODS[-3:])),
        # It bounds whatever has been found.
        ("formulations/valid/volumes.py", set(METHODS)),
        ("kvopt/engines/auto.py", {"auto"}),
        ("kvopt/running/state.py", set(METHODS)),
        # The machinery, the command line, reports: no result depends on them.
        ("kvopt/commands/solve.py", set()),
        ("kvopt/commands/evaluate.py", set()),
        ("kvopt/store/store.py", set()),
        ("kvopt/executors/local.py", set()),
        ("heuristics/improve.py", {"auto"}),
    ],
)
def test_an_edit_changes_what_can_reach_it(project: Path, file: str, changed: set[str]) -> None:
    """A new statement in a file changes the methods that import it or name it, no other."""
    methods = {text: read_method(text) for text in METHODS}
    before = {text: fingerprint(method) for text, method in methods.items()}
    path = project / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    after = {text: fingerprint(method) for text, method in methods.items()}
    assert {text for text in METHODS if before[text] != after[text]} == changed


def test_comments_and_docstrings_change_nothing(project: Path) -> None:
    """What is not run cannot change a result."""
    method = read_method("svf")
    before = fingerprint(method)
    path = project / "heuristics" / "policies" / "svf.py"
    path.write_text("# why\n" + path.read_text().replace('"""', '"""Now: ', 1))
    assert fingerprint(method) == before


def test_a_file_with_its_neighbours(tmp_path: Path) -> None:
    """What a method of one's own imports from its folder or from the project counts too."""
    (tmp_path / "mine.py").write_text(
        "import os\nfrom helper import order\nfrom heuristics.queues import exact\n"
    )
    helper = tmp_path / "helper.py"
    helper.write_text("import numpy\norder = 1\n")
    method = read_method(f"file:{tmp_path / 'mine.py'}")
    before = fingerprint(method)
    assert set(versions(method)) == {"python", "numpy"}
    helper.write_text("order = 2\n")
    assert fingerprint(method) != before


def test_versions_are_of_what_is_imported() -> None:
    """A new CP-SAT reruns CP-SAT, not the policies; names of libraries, not of the project."""
    found = {text: set(versions(read_method(text))) for text in METHODS}
    assert {"python", "numpy"} <= found["svf"]
    assert not {"ortools", "highspy"} & found["svf"]
    assert "ortools" in found["cpsat:cpsat"]
    assert "highspy" not in found["cpsat:cpsat"]
    assert {"highspy", "pyomo"} <= found["highs:ilp"]
    assert "ortools" not in found["highs:ilp"]


def test_import_closure() -> None:
    """Static imports are followed, the packages on the way are part of it, text is not."""
    closure = import_closure("schedules.check")
    assert {"schedules", "schedules.model", "instances.model"} <= closure
    assert not any(name.startswith(("formulations", "heuristics", "kvopt")) for name in closure)
    with pytest.raises(FileNotFoundError, match="no such module"):
        import_closure("schedules.nothing")


def test_imports_for_type_checkers_do_not_count(tmp_path: Path) -> None:
    """They are never run."""
    path = tmp_path / "typed.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\n"
        "else:\n    import scipy\n"
    )
    assert versions(Method("file:typed.py", "file", path=path)).keys() == {"python", "scipy"}
