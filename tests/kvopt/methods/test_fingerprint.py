"""An edit changes the digests of the rooms that it is in, and of nothing else."""

import gc
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest

import kvopt.methods.fingerprint
import kvopt.methods.python_files
from kvopt.methods.engine_table import engine_of, engines
from kvopt.methods.fingerprint import (
    ROOMS,
    fingerprint,
    proof_fingerprint,
    room_files,
    rooms_of,
    versions,
)
from kvopt.methods.grammar import read_method
from kvopt.project_paths import PACKAGES
from tests.tiers import spread

ROOT = Path(__file__).resolve().parents[3]
POLICIES = {"svf", "fcfs", "sorted-lp"}
ENGINES = {"auto", "highs", "highs:ilp", "cpsat:cpsat", "bound:bound-dual", "search"}
METHODS = sorted(POLICIES | ENGINES)
#: What runs auto, or HiGHS for advice.
WITH_HIGHS = {"auto", "highs", "highs:ilp", "sorted-lp"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, which are read once."""
    copy = tmp_path_factory.mktemp("project")
    for folder in set(PACKAGES) - {"reports"}:
        ignored = shutil.ignore_patterns("*.json", "__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    return copy


@pytest.fixture
def project(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy, of which the digests are taken; what a test edits is as before after it."""
    before = {path: path.stat().st_mtime_ns for path in sources.rglob("*.py")}
    monkeypatch.setattr(kvopt.methods.python_files, "ROOT", sources)
    monkeypatch.setattr(kvopt.methods.fingerprint, "ROOT", sources)
    room_files.cache_clear()
    yield sources
    room_files.cache_clear()
    for path in sources.rglob("*.py"):
        if path.stat().st_mtime_ns != before[path]:
            shutil.copy2(ROOT / path.relative_to(sources), path)


def _digests() -> dict[str, str]:
    return {text: fingerprint(read_method(text)) for text in METHODS}


@pytest.mark.parametrize(
    ("file", "changed"),
    spread(
        [
            ("heuristics/policies/svf.py", POLICIES | ENGINES),
            ("formulations/mip/ilp.py", ENGINES | {"sorted-lp"}),
            ("kvopt/engines/cpsat.py", {"cpsat:cpsat"}),
            ("kvopt/engines/highs.py", WITH_HIGHS),
            ("serving/engine.py", ENGINES | {"sorted-lp"}),
            ("kvopt/runs/team.py", {"auto", "highs"}),
            ("kvopt/runs/state.py", POLICIES | ENGINES),
            ("schedules/check.py", POLICIES | ENGINES),
            # The machinery, the command line, reports: no result depends on them.
            ("kvopt/commands/solve.py", set()),
            ("kvopt/store/store.py", set()),
            ("heuristics/reference/mc_sf.py", set()),
            ("support/message_text.py", set()),
        ],
        3,
    ),
)
def test_an_edit_changes_the_methods_of_its_rooms(
    project: Path, file: str, changed: set[str]
) -> None:
    """A new line in a file changes all methods of its room, no other."""
    before = _digests()
    path = project / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    after = _digests()
    assert {text for text in METHODS if before[text] != after[text]} == changed


@pytest.mark.parametrize("file", ["formulations/mip/ilp.py", "kvopt/engines/highs.py"])
def test_a_proof_rests_on_model_and_engine(project: Path, file: str) -> None:
    """Policies and the machinery of runs leave it as it is; another engine does, too."""
    method = read_method("highs:ilp")
    before = proof_fingerprint(method)
    for other in ("heuristics/simulator.py", "kvopt/runs/worker.py", "kvopt/engines/cpsat.py"):
        path = project / other
        path.write_text(path.read_text() + "\nADDED = 1\n")
    assert proof_fingerprint(method) == before
    path = project / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert proof_fingerprint(method) != before


#: Of these packages a result can depend on any file.
DECIDING = (
    *("instances", "schedules", "heuristics", "formulations", "kvopt.engines"),
    *("serving.batch_time", "serving.bounds", "serving.engine"),
)


@cache
def _graph() -> Any:
    packages = {*(each.partition(".")[0] for each in DECIDING), "support"}
    return grimp.build_graph(
        *packages, include_external_packages=True, exclude_type_checking_imports=True
    )


def _file(module: str) -> str:
    stem = module.replace(".", "/")
    return f"{stem}/__init__.py" if (ROOT / stem).is_dir() else f"{stem}.py"


def _reached(method: str) -> set[str]:
    """Return the modules that importing what a method runs can import."""
    read = read_method(method, planned=True)
    if read.call is not None:
        entries = ["heuristics.simulator", f"heuristics.policies.{method.replace('-', '_')}"]
    else:
        entries = [engine_of(read.solver).module, "kvopt.engines.start", "serving.engine"]
    return {*entries}.union(*map(_graph().find_upstream_modules, entries))


@pytest.mark.parametrize("method", [*METHODS, "improve", "local-search", "search:counts"])
def test_the_rooms_of_a_method_hold_all_that_it_imports(method: str) -> None:
    """No import of any file, also inside functions, leads out of them."""
    reached = {each for each in _reached(method) if each.startswith(DECIDING)}
    empty = {each for each in reached if each in ("heuristics", "formulations")}
    rooms = rooms_of(read_method(method, planned=True))
    files = {path.relative_to(ROOT).as_posix() for room in rooms for path in room_files(room)}
    assert {_file(each) for each in reached - empty} - files == set()


def test_every_file_is_in_a_room() -> None:
    """All that can decide a result, but for pseudocode and pictures, which decide none."""
    taken = {path for room in [*ROOMS, *engines()] for path in room_files(room)}
    for package in DECIDING:
        folder = ROOT / package.replace(".", "/")
        for path in folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]:
            lines = path.read_text().count("\n")
            apart = path.parent.name == "reference" or path.name == "schedule_picture.py"
            assert path in taken or apart or lines == 1, path


@pytest.mark.parametrize("method", METHODS)
def test_versions_are_of_what_is_imported(method: str) -> None:
    """A new CP-SAT reruns CP-SAT, not the policies."""
    external = {each for each in _reached(method) if each in ("highspy", "ortools", "pyomo")}
    found = set(versions(read_method(method)))
    assert {"python", "numpy", "numba"} <= found
    if method in ENGINES - {"auto", "highs"}:
        assert external & found == found & {"highspy", "ortools", "pyomo"}


@pytest.mark.parametrize(
    "file",
    ["support/message_text.py", "heuristics/policies/svf.py", "kvopt/methods/custom_program.py"],
)
def test_a_file_of_the_users_may_use_anything(project: Path, tmp_path: Path, file: str) -> None:
    """Whatever of the suite is edited, also what only a registry finds for it by name."""
    own = tmp_path / "mine.py"
    own.write_text("from heuristics.policy_registry import policies\nPOLICY = policies()['svf']\n")
    method = read_method(f"file:{own}")
    before = fingerprint(method)
    path = project / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert fingerprint(method) != before
    assert {"numpy", "numba", "highspy", "ortools"} <= set(versions(method))


def test_threads_read_sources_side_by_side() -> None:
    """In CPython 3.11 a parse that another thread's interrupts raises SystemError (106905)."""
    files = sorted((ROOT / "kvopt").glob("*/*.py"))[:60]

    def give_way(*_: object) -> None:
        time.sleep(1e-5)

    limits = gc.get_threshold()
    gc.set_threshold(500, 1, 1)
    gc.callbacks.append(give_way)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(kvopt.methods.python_files.parse_file, files * 4))
    finally:
        gc.callbacks.remove(give_way)
        gc.set_threshold(*limits)
