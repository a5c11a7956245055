"""An edit changes the digest of what it can change, and of nothing else."""

from __future__ import annotations

import gc
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kvopt.methods.sources
from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import read_method
from kvopt.methods.sources import foreign, import_closure
from tests.tiers import spread

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


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, which are read once."""
    copy = tmp_path_factory.mktemp("project")
    for folder in ("support", "instances", "schedules", "formulations", "heuristics", "kvopt"):
        ignored = shutil.ignore_patterns("*.json", "__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    return copy


def _digests() -> dict[str, str]:
    return {text: fingerprint(read_method(text)) for text in METHODS}


@pytest.fixture(scope="module")
def before(sources: Path) -> dict[str, str]:
    """The digests of the copy as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kvopt.methods.sources, "ROOT", sources)
        return _digests()


@pytest.fixture
def project(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy, of which the digests are taken; what a test edits is as before after it."""
    before = {path: path.stat().st_mtime_ns for path in sources.rglob("*.py")}
    monkeypatch.setattr(kvopt.methods.sources, "ROOT", sources)
    yield sources
    for path in sources.rglob("*.py"):
        if path.stat().st_mtime_ns != before[path]:
            shutil.copy2(ROOT / path.relative_to(sources), path)


@pytest.mark.parametrize(
    ("file", "changed"),
    spread(
        [
            # svf is a warm start of every engine, and sorted-lp's horizon is its TEL.
            ("heuristics/policies/svf.py", set(METHODS) - {"fcfs", "a-min"}),
            ("heuristics/policies/a_min.py", {"a-min"}),
            ("heuristics/simulator.py", set(METHODS)),
            ("heuristics/local_search.py", {"auto", "highs", "search"}),
            # On whose start variables every integer program is built.
            ("formulations/mip/ilp.py", {"auto", "highs", "highs:ilp", "sorted-lp"}),
            ("formulations/mip/ilp_with_cuts.py", {"highs"}),
            # Where there are too many patterns for bound-patterns, whose prices the search uses.
            ("formulations/bounds/dual.py", {"auto", "highs", "bound:bound-dual", "search"}),
            # Every engine's start can choose a formulation.
            ("formulations/choice.py", set(METHODS) - {"svf", "fcfs", "a-min", "sorted-lp"}),
            ("kvopt/engines/cpsat.py", {"cpsat:cpsat"}),
            # auto loads no CP-SAT; others work beside a solver alone.
            ("formulations/cp/cpsat.py", {"cpsat:cpsat"}),
            ("kvopt/engines/search.py", {"auto", "highs", "search"}),
            ("kvopt/engines/highs.py", set(METHODS) - {"svf", "fcfs", "a-min"} - set(METHODS[-3:])),
            # It bounds whatever has been found.
            ("formulations/valid/volumes.py", set(METHODS)),
            ("kvopt/engines/auto.py", {"auto", "highs"}),
            ("kvopt/engines/in_seconds.py", {"auto", "bound:bound-dual"}),
            ("kvopt/runs/state.py", set(METHODS)),
            # The machinery, the command line, reports: no result depends on them.
            ("kvopt/commands/solve.py", set()),
            ("kvopt/commands/evaluate.py", set()),
            ("kvopt/store/store.py", set()),
            ("kvopt/executors/local.py", set()),
            ("heuristics/reference/mc_sf.py", set()),
            ("support/text.py", set()),
            # What reads them makes no row stale either, unless it finds other digests.
            ("kvopt/methods/sources.py", set()),
            ("support/compiling.py", set(METHODS)),
        ],
        3,
    ),
)
def test_an_edit_changes_what_can_reach_it(
    before: dict[str, str], project: Path, file: str, changed: set[str]
) -> None:
    """A new statement in a file changes the methods that import it or name it, no other."""
    path = project / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    after = _digests()
    assert {text for text in METHODS if before[text] != after[text]} == changed


def test_comments_and_docstrings_change_nothing(project: Path) -> None:
    """What is not run cannot change a result."""
    method = read_method("svf")
    before = fingerprint(method)
    path = project / "heuristics" / "policies" / "svf.py"
    path.write_text("# why\n" + path.read_text().replace('"""', '"""Now: ', 1))
    assert fingerprint(method) == before


@pytest.mark.parametrize(
    "file", ["support/text.py", "heuristics/policies/svf.py", "kvopt/methods/program.py"]
)
def test_a_file_of_the_users_may_use_anything(project: Path, tmp_path: Path, file: str) -> None:
    """Whatever of the suite is edited, also what only a registry finds for it by name."""
    own = tmp_path / "mine.py"
    own.write_text("from heuristics.registry import policies\nPOLICY = policies()['svf']\n")
    method = read_method(f"file:{own}")
    before = fingerprint(method)
    path = project / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert fingerprint(method) != before
    assert {"numpy", "numba", "highspy", "ortools"} <= set(versions(method))


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
    assert not {"support.command", "instances.named"} & closure, "what its command alone imports"
    with pytest.raises(FileNotFoundError, match="no such module"):
        import_closure("schedules.nothing")


@pytest.mark.parametrize("condition", ["TYPE_CHECKING", "__name__ == '__main__'"])
def test_imports_that_are_never_run_do_not_count(tmp_path: Path, condition: str) -> None:
    """Those for type checkers only, and those of a file that is run as a command."""
    path = tmp_path / "typed.py"
    path.write_text(
        f"from typing import TYPE_CHECKING\nif {condition}:\n    import numpy\n"
        f"else:\n    import scipy\nif not ({condition}):\n    import pandas\n"
    )
    assert foreign([path]) == {"pandas", "scipy"}


def test_threads_read_sources_side_by_side() -> None:
    """In CPython 3.11 a parse that another thread's interrupts raises SystemError (106905)."""
    files = sorted((ROOT / "kvopt").glob("*/*.py"))[:60]
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for path in files:
                kvopt.methods.sources.parse_file(path)
        except BaseException as failure:
            failures.append(failure)

    def give_way(*_: object) -> None:
        time.sleep(1e-5)

    limits = gc.get_threshold()
    gc.set_threshold(500, 1, 1)
    gc.callbacks.append(give_way)
    try:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(give_way)
        gc.set_threshold(*limits)
    assert not failures
