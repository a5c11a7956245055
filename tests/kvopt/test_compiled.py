"""Kernels are compiled once on a machine, before the clock of a run starts, and kept in a place."""

import io
import os
import re
import shutil
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kvopt.methods.grammar import read_method
from kvopt.run_progress import CompilingLine
from kvopt.runs import kernel_compilation
from kvopt.runs.events import BoundProved, Compiling, Event, EventReport, ScheduleFound
from kvopt.runs.execute import execute
from kvopt.runs.preparation import prepare
from kvopt.runs.state import RunState
from kvopt.runs.supervise import RunSnapshot
from kvopt.runs.task import Task
from support import kernel_cache as keeping
from support.project_root import ROOT
from tests.kvopt.best_known.registry import FOUR
from tests.kvopt.conftest import DISK_BYTES, HARD
from tests.kvopt.sweep_tools import Patch, Screen, in_python, task_of
from tests.tiers import a_few


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty folder in which kernels are kept; another one for those that it does not take."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path / "kept"


def _compiled_files(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*.nbc")}


@pytest.mark.slow("compiles")
def test_the_first_run_of_a_machine_compiles_before_its_clock_starts(kept: Path) -> None:
    """An empty folder costs the run none of its 2 s; the kernels are marked, and made once."""
    first = execute(task_of(FOUR, "improve", time_limit=2.0)).record
    (mark,) = kept.rglob("annealing.compiled")
    made, changed = _compiled_files(kept), mark.stat().st_mtime_ns
    assert made
    second = execute(task_of(FOUR, "improve", time_limit=2.0)).record
    assert mark.stat().st_mtime_ns == changed
    assert _compiled_files(kept) == made
    # To the end of its time, whatever compiling has taken before: the area bound, 10, ends nothing.
    assert (first.tel, second.tel) == (12, 12)
    # A schedule and a bound came before compiling.
    assert (first.incumbents[0][0], first.bounds[0][0]) == (0.0, 0.0)
    assert min(first.seconds, second.seconds) > 1.5


#: Marks a unit, as if it had compiled it for a while, and counts how often.
SLOWLY = """
import sys, time
from kvopt.runs import kernel_compilation
class Module:
    def compile_kernels():
        print("compiling", flush=True)
        time.sleep(0.5)
kernel_compilation.importlib.import_module = lambda _: Module
kernel_compilation._compile_chain(["prices"])
"""


def test_of_two_that_start_at_once_one_compiles(kept: Path) -> None:
    """The other waits until the kernels are there; who dies while it compiles holds nobody up."""
    (kept / keeping.kernel_digest()).mkdir(parents=True)
    with ThreadPoolExecutor(2) as pool:
        printed = "\n".join(pool.map(in_python, [SLOWLY] * 2))
    assert sorted(printed.split()) == ["compiling", "prices", "prices"]
    assert kernel_compilation.missing_units(["prices"]) == []


def test_the_folder_is_of_sources_versions_and_processor(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    """Equal sources share kernels; other sources, another numba or processor have their own."""
    digest = keeping.kernel_digest.__wrapped__
    before = digest()
    for package in keeping._PACKAGES:
        ignored = shutil.ignore_patterns("*.json")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    with monkeypatch.context() as patch:
        patch.setattr(keeping, "ROOT", tmp_path)
        assert digest() == before
        with (tmp_path / "heuristics" / "admission.py").open("a") as source:
            source.write("\n#: Another.\nANOTHER = 1\n")
        assert digest() != before
    for name in ("version", "_processor"):
        with monkeypatch.context() as patch:
            patch.setattr(keeping, name, lambda *_: "another")
            assert digest() != before


def test_kernels_read_nothing_but_what_the_digest_covers() -> None:
    """What they import of the formulations is in files with kernels, or with tuples for these."""
    for file in sorted((ROOT / "formulations").rglob("*.py")):
        source = file.read_text()
        if "support.kernel_cache" in source:
            for module in re.findall(r"^from (formulations\.\S+) import", source, re.MULTILINE):
                imported = ROOT / f"{module.replace('.', '/')}.py"
                assert keeping._HOLDS_KERNELS.search(imported.read_bytes()), (file, module)


@pytest.mark.usefixtures("kept")
def test_kernels_that_cannot_be_compiled_stop_nobody(monkeypatch: Patch) -> None:
    """A failing compiler leaves no mark."""
    monkeypatch.setitem(kernel_compilation.UNITS, "broken", "kvopt.no_such_module")
    monkeypatch.setattr(kernel_compilation, "CHAINS", ({"broken": "kvopt.no_such_module"},))
    kernel_compilation.compile_first(["broken"])
    assert kernel_compilation.missing_units(["broken"]) == ["broken"]


@pytest.mark.slow("compiles")
def test_every_unit_compiles_all_of_its_kernels(kept: Path) -> None:
    """One by one; no mark is broken by a kernel that two of them run."""
    told: list[tuple[int, int]] = []
    assert kernel_compilation.missing_units(kernel_compilation.UNITS) == list(
        kernel_compilation.UNITS
    )
    kernel_compilation.compile_first(kernel_compilation.UNITS, lambda *each: told.append(each))
    assert kernel_compilation.missing_units(kernel_compilation.UNITS) == []
    assert told == [
        (done, len(kernel_compilation.UNITS)) for done in range(len(kernel_compilation.UNITS) + 1)
    ]
    assert _compiled_files(kept)


@pytest.fixture
def nowhere(kept: Path, monkeypatch: Patch) -> Path:
    """A machine on which kernels can be kept in no place that numba knows; its temporary folder."""
    kept.touch()
    for name in ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(kept / name))
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    return kept.parent / "tmp"


@pytest.mark.slow("compiles")
@pytest.mark.parametrize("place", ["private", "of another"])
def test_without_a_place_for_kernels_an_engine_runs(nowhere: Path, place: str) -> None:
    """They are kept in a private temporary folder, or compiled each time; others' are not run."""
    mine = nowhere / f"kvopt-{os.getuid()}"
    if place == "of another":
        mine.mkdir()
        mine.chmod(0o777)
    found = execute(task_of(FOUR, "improve", time_limit=1.0)).record
    # Not what the policies have found before it.
    assert (found.ending, found.detail, found.tel) == ("finished", "", 12)
    assert found.seconds > 0.5  # to the end of its time
    assert bool(list(mine.rglob("*.nbc"))) == (place == "private")


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()], ids=["pipe", "screen"])
def test_a_line_says_how_far_compiling_is(stream: io.StringIO) -> None:
    """On a screen it is rewritten, in a pipe a second one comes seconds later; API and command."""
    state = RunState(FOUR, "improve")
    line = CompilingLine(stream)
    for compiling, kernels in ((0.5, (0, 7)), (2.0, (3, 7)), (2.1, (4, 7)), (0.0, (7, 7))):
        line(RunSnapshot(state, compiling, kernels))
    said = "of 7 parts are compiled, once on this machine; the clock waits"
    texts = [f"{done} {said}" for done in (3, 4)]
    if stream.isatty():
        shown = [text for text in stream.getvalue().rstrip().split("\r") if text]
        assert list(dict.fromkeys(shown)) == texts
    else:
        assert stream.getvalue() == f"{texts[0]}\n"


@pytest.mark.parametrize("units", [["queues"], ["queues", "seconds"]])
def test_a_folder_that_is_read_only_counts_where_it_has_all(
    kept: Path, monkeypatch: Patch, units: list[str]
) -> None:
    """As in the image of a container; else all that is wanted is compiled in a temporary one."""
    monkeypatch.setattr(
        kernel_compilation, "is_writable", lambda folder: not folder.is_relative_to(kept)
    )
    asked: list[Collection[str]] = []
    monkeypatch.setattr(kernel_compilation, "_compile", lambda units, _: asked.append(units))
    monkeypatch.setattr("importlib.import_module", lambda _: io)
    (kept / keeping.kernel_digest()).mkdir(parents=True)
    (kept / keeping.kernel_digest() / "queues.compiled").write_text("{}")
    kernel_compilation.compile_first(units)
    assert asked == ([] if units == ["queues"] else [units])
    private = kept.parent / "tmp" / f"kvopt-{os.getuid()}"
    taken = kept if units == ["queues"] else private
    assert os.environ["NUMBA_CACHE_DIR"] == str(taken)


#: Has kernels compiled or loaded, and prints how many were loaded.
PROGRAM = """
from support import kernel_cache
@kernel_cache.compile_kernel()
def one():
    return 1
@kernel_cache.compile_kernel()
def two():
    return 2
@kernel_cache.compile_kernel()
def three():
    return 3
assert (one(), two(), three()) == (1, 2, 3)
print(sum(sum(each.stats.cache_hits.values()) for each in (one, two, three)))
"""


def _loads(folder: Path) -> int:
    """Run three kernels in a new process; return how many were loaded."""
    return int(in_python(PROGRAM, NUMBA_CACHE_DIR=str(folder)))


def test_a_kernel_that_cannot_be_read_is_compiled(tmp_path: Path) -> None:
    """The process that meets it goes on, whatever the file holds: nothing, zeros, or the most."""
    assert (_loads(tmp_path), _loads(tmp_path)) == (0, 3)
    for name, size, more in (("one", 0, b""), ("two", 0, b"\0" * 5000), ("three", -100, b"")):
        files = list(tmp_path.rglob(f"{name}-*.nb?"))
        assert len(files) == 2
        for file in files:
            file.write_bytes(file.read_bytes()[:size] + more)
    # Damaged files are replaced.
    assert (_loads(tmp_path), _loads(tmp_path)) == (0, 3)


def test_a_full_disk_ends_nothing(disk: Path) -> None:
    """The kernel runs, and the folder does not count as one that can be written to."""
    (disk / "filler").write_bytes(bytes(DISK_BYTES))
    assert _loads(disk / "kernels") == 0
    assert not keeping.is_writable(disk / "kernels")


def test_first_results_come_before_compiling_ends(tmp_path: Path, monkeypatch: Patch) -> None:
    """They come at second 0, before the first word of compiling; the engine begins after it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    events: list[Event] = []

    def take(event: Event) -> None:
        events.append(event)
        if isinstance(event, Compiling):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        prepare(Task(HARD, "hard", read_method("improve")), EventReport(take))
    bound, schedule, first, *_ = events
    assert isinstance(bound, BoundProved)
    assert isinstance(schedule, ScheduleFound)
    assert (bound.seconds, schedule.seconds) == (0.0, 0.0)
    assert isinstance(first, Compiling)


#: Prepares a method and runs it; prints which libraries came late.
_RUN = """
import sys
from kvopt.methods.grammar import read_method
from kvopt.runs.events import EventReport
from kvopt.runs.preparation import prepare
from kvopt.runs.task import Task
import kvopt

instance = kvopt.read("tiny_two_bursts")
task = Task(instance=instance, name=instance.name, method=read_method(sys.argv[1]))
run = prepare(task, EventReport([].append))
loaded = set(sys.modules)
run(task, EventReport([].append))
late = {"highspy", "ortools", "pyomo", "scipy", "numba"} & sys.modules.keys() - loaded
print(sorted(late), "pyomo" in loaded)
"""


@pytest.mark.parametrize(
    ("method", "pyomo"),
    a_few(
        (
            *[("highs:ilp", True), ("search", False), ("sorted-lp", True)],
            *[("cpsat:cpsat-strong", False), ("bound:bound-dual", False)],
        ),
        3,
    ),
)
def test_libraries_are_loaded_before_the_clock(method: str, pyomo: bool) -> None:
    """No library is left for the counted time, also what Pyomo puts off until its first model."""
    assert in_python(_RUN, method).splitlines()[-1] == f"[] {pyomo}"
