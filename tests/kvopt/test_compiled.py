"""Kernels are compiled once on a machine, before the clock of a run starts, and kept in a place."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

import kvopt
from heuristics import admission
from kvopt.places import PACKAGES
from kvopt.progress import CompilingLine, Progress
from kvopt.runs import compiled
from kvopt.runs.execute import execute
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Snapshot
from support import compiling as keeping
from support.checkout import ROOT
from tests.kvopt.best_known.registry import FOUR
from tests.kvopt.conftest import DISK_BYTES
from tests.kvopt.sweep_tools import Screen, task_of


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which kernels are kept."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.slow("compiles")
def test_the_first_run_of_a_machine_compiles_before_its_clock_starts(kept: Path) -> None:
    """An empty cache costs the run none of its 2 s; the kernels are marked, and not made again."""
    first = execute(task_of(FOUR, "improve", time_limit=2.0)).record
    (mark,) = kept.glob("annealing-*.compiled")
    made = sorted(kept.rglob("*.nbc"))
    assert made
    changed = mark.stat().st_mtime_ns
    second = execute(task_of(FOUR, "improve", time_limit=2.0)).record
    assert mark.stat().st_mtime_ns == changed
    assert sorted(kept.rglob("*.nbc")) == made
    # To the end of its time, whatever compiling has taken before: the area bound, 10, ends nothing.
    assert (first.tel, second.tel) == (12, 12)
    # A schedule and a bound came before compiling.
    assert (first.incumbents[0][0], first.bounds[0][0]) == (0.0, 0.0)
    assert min(first.seconds, second.seconds) > 1.5


def test_of_two_that_start_at_once_one_compiles(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other waits until the kernels are there."""
    compiling: list[Path] = []
    # The sources are read once, not by two threads at a time.
    mark = kept / compiled._mark("prices")

    def compile_slowly(_: str, mark: Path, __: object) -> None:
        compiling.append(mark)
        time.sleep(0.3)
        mark.write_text("{}")

    monkeypatch.setattr(compiled, "_compile", compile_slowly)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(compiled.compile_first, ["prices"]) for _ in range(2)]
    assert all(each.exception() is None for each in both)
    assert compiling == [mark]
    # Who died while it compiled holds nobody up: the system has taken its lock.
    mark.unlink()
    compiled.compile_first(["prices"])
    assert compiling == [mark, mark]


def test_a_mark_is_of_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other kernels, or another numba, have a mark of their own."""
    marks = {compiled._mark(unit) for unit in compiled.UNITS}
    assert len(marks) == len(compiled.UNITS)
    monkeypatch.setattr(compiled, "compilers", lambda: ("0",))
    assert marks.isdisjoint(compiled._mark(unit) for unit in compiled.UNITS)
    monkeypatch.undo()
    # A home may be shared by machines whose processors differ.
    monkeypatch.setattr(compiled, "_processor", lambda: "another")
    assert marks.isdisjoint(compiled._mark(unit) for unit in compiled.UNITS)


def test_kernels_that_cannot_be_compiled_stop_nobody(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing compiler leaves no mark."""
    monkeypatch.setitem(compiled.UNITS, "broken", "kvopt.no_such_module")
    compiled.compile_first(["broken"])
    assert list(kept.glob("*.compiled")) == []


@pytest.mark.slow("compiles")
def test_every_unit_compiles_all_of_its_kernels(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to be compiled while the clock of a run goes; the count rises to its end."""
    # What can be read there is not compiled, and what it calls is never counted.
    monkeypatch.setenv("TMPDIR", str(kept))
    told: list[tuple[int, int]] = []
    assert compiled.missing_units(compiled.UNITS) == list(compiled.UNITS)
    compiled.compile_first(compiled.UNITS, lambda done, of: told.append((done, of)))
    assert compiled.missing_units(compiled.UNITS) == []
    done, of = told[-1]
    assert done == of == sum(compiled.COUNTS.values())
    assert all(one[0] <= two[0] and one[1] == two[1] for one, two in pairwise(told))


@pytest.mark.usefixtures("kept")
def test_the_sum_of_kernels_is_known_before_the_first_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It counts what the sources declare, and does not move as one unit begins after the other."""
    for unit, modules in compiled.KERNELS.items():
        files = [ROOT / f"{module.replace('.', '/')}.py" for module in modules]
        declared = sum(file.read_text().count("\n@njit(cache=True") for file in files)
        assert compiled.COUNTS[unit] == declared

    def compile_one(unit: str, _: Path, told: compiled._Told) -> None:
        told.take(unit, 1)

    monkeypatch.setattr(compiled, "_compile", compile_one)
    monkeypatch.setattr(compiled, "usable_cores", lambda: 1)
    monkeypatch.setitem(compiled.UNITS, "queues", "kvopt.runs.telling")
    monkeypatch.setitem(compiled.UNITS, "annealing", "kvopt.runs.telling")
    told: list[tuple[int, int]] = []
    compiled.compile_first(["annealing", "queues"], lambda *each: told.append(each))
    assert told == [(1, 5), (4, 5), (5, 5), (5, 5)]


def test_another_numba_keeps_its_kernels_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two environments write over no file of each other, which would end neither's compiling."""
    kernel = getattr(admission.insert, "py_func", admission.insert)
    folder = keeping._digest(kernel)
    assert folder == keeping._digest(kernel)
    monkeypatch.setattr(keeping, "compilers", lambda: ("0",))
    assert folder != keeping._digest(kernel)


@pytest.mark.slow("compiles")
def test_equal_sources_share_kernels(tmp_path: Path) -> None:
    """A second checkout compiles nothing; one whose kernels differ compiles its own."""
    kept = tmp_path / "kept"
    compiling = [sys.executable, "-m", "kvopt.runs.compiled", "queues"]
    files = []
    for name in ("one", "two", "other"):
        for package in PACKAGES:
            shutil.copytree(
                ROOT / package, tmp_path / name / package, ignore=shutil.ignore_patterns("*.json")
            )
        if name == "other":
            with (tmp_path / name / "heuristics" / "admission.py").open("a") as source:
                source.write("\n#: Another.\nANOTHER = 1\n")
        env = os.environ | {"NUMBA_CACHE_DIR": str(kept), "PYTHONPATH": str(tmp_path / name)}
        subprocess.run(compiling, cwd=tmp_path / name, env=env, check=True)
        files.append({file: file.stat().st_mtime_ns for file in kept.rglob("*.nbc")})
    assert files[0]
    assert files[1] == files[0]
    assert len(files[2]) == 2 * len(files[0])


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which kernels can be kept in no place that numba knows; its temporary folder."""
    blocked = tmp_path / "file"
    blocked.touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked / "numba"))
    monkeypatch.setenv("HOME", str(blocked / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


@pytest.mark.slow("compiles")
@pytest.mark.parametrize("place", ["private", "of another"])
def test_without_a_place_for_kernels_an_engine_runs(nowhere: Path, place: str) -> None:
    """They are kept in a folder of the user's own below the temporary one, or compiled each time.

    What somebody else has put there under that name is not run.
    """
    mine = nowhere / f"kvopt-{os.getuid()}"
    if place == "of another":
        mine.mkdir()
        mine.chmod(0o777)
    found = execute(task_of(FOUR, "improve", time_limit=1.0)).record
    # Not what the policies have found before it.
    assert (found.ending, found.detail, found.tel) == ("finished", "", 12)
    assert found.seconds > 0.5  # to the end of its time
    assert bool(list(mine.rglob("*.nbc"))) == (place == "private")


@pytest.fixture(scope="module")
def annealing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernels of the local search."""
    folder = tmp_path_factory.mktemp("annealing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(folder))
        compiled.compile_first(["annealing"])
    return folder


@pytest.mark.slow("compiles")
@pytest.mark.parametrize("torn", ["*.nbi", "*.nbc"])
def test_a_torn_file_is_dropped_before_the_clock(torn: str, annealing: Path, kept: Path) -> None:
    """Whoever comes next compiles what is missing, and the one after finds it."""
    shutil.copytree(annealing, kept, dirs_exist_ok=True)
    # A folder may be moved, as in an image.
    assert compiled.missing_units(["annealing"]) == []
    files = sorted(kept.rglob(torn))
    sizes = [file.stat().st_size for file in files]
    for file in files:
        os.truncate(file, file.stat().st_size // 2)
    mark = kept / compiled._mark("annealing")
    assert not compiled._holds(mark)
    found = execute(task_of(FOUR, "improve", time_limit=1.0)).record
    assert (found.ending, found.detail, found.tel) == ("finished", "", 12)
    assert [file.stat().st_size for file in files] == sizes
    assert compiled._holds(mark)


def test_a_kernel_reads_the_fields_of_today(tmp_path: Path) -> None:
    """Of a named tuple, too, whose class is another one in another file."""
    (tmp_path / "kernels.py").write_text(
        "from support.compiling import njit\n"
        "@njit(cache=True)\n"
        "def first(pairs):\n"
        "    return pairs[0].a\n"
    )
    (tmp_path / "main.py").write_text(
        "from kernels import first\nfrom pairs import Pair\nprint(first((Pair(a=1, b=2),)))\n"
    )
    kept = str(tmp_path / "kept")
    env = os.environ | {"NUMBA_CACHE_DIR": kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    for fields in ("a: int\n    b: int", "b: int\n    a: int"):
        (tmp_path / "pairs.py").write_text(
            f"from typing import NamedTuple\nclass Pair(NamedTuple):\n    {fields}\n"
        )
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        ran = subprocess.run(
            [sys.executable, "main.py"], cwd=tmp_path, env=env, capture_output=True, check=True
        )
        assert ran.stdout == b"1\n"
    assert len(list(Path(kept).rglob("*.nbc"))) == 2


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()], ids=["pipe", "screen"])
def test_a_line_says_how_far_compiling_is(stream: io.StringIO) -> None:
    """On a screen it is rewritten, in a pipe a second one comes seconds later; API and command."""
    state = RunState(FOUR, "improve")
    line = CompilingLine(stream)
    for compiling, kernels in ((0.5, (0, 7)), (2.0, (3, 7)), (2.1, (4, 7)), (0.0, (7, 7))):
        line(Snapshot(state, compiling, kernels))
    said = "of 7 kernels, once on this machine; the clock waits"
    texts = [f"compiling {done} {said}" for done in (3, 4)]
    if stream.isatty():
        shown = [text for text in stream.getvalue().rstrip().split("\r") if text]
        assert list(dict.fromkeys(shown)) == texts
    else:
        assert stream.getvalue() == f"{texts[0]}\n"


@pytest.mark.slow("compiles")
def test_a_first_call_from_python_is_not_silent(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without progress nothing is told but that kernels are compiled; a function is told, too."""
    kvopt.solve(FOUR, "improve", time_limit=0.5)
    told = capsys.readouterr()
    assert told.out == ""
    assert "kernels, once on this machine" in told.err
    calls: list[Progress] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kept / "again"))
    kvopt.solve(FOUR, "improve", time_limit=0.5, progress=calls.append)
    assert any(each.kernels[1] for each in calls)
    kvopt.solve(FOUR, "improve", time_limit=0.5)
    assert capsys.readouterr().err == ""


#: Has a kernel compiled or loaded, and prints how often it was loaded and how many files are kept.
PROGRAM = """
import sys
from pathlib import Path
from support import compiling
if len(sys.argv) > 1:
    named, said = Path(sys.argv[1]), sys.argv[2] == "writable"
    found = compiling.is_writable
    compiling.is_writable = lambda folder: said if folder == named else found(folder)
from kernel import one
assert one() == 1
print(sum(one.stats.cache_hits.values()), len(compiling.kept_files()))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a program, its kernel, and a temporary folder."""
    (tmp_path / "kernel.py").write_text(
        "from support.compiling import njit\n@njit(cache=True)\ndef one():\n    return 1\n"
    )
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def _run(home: Path, named: Path, *arguments: object) -> tuple[int, int]:
    """Run the program; return how often its kernel was loaded and how many files are kept."""
    env = os.environ | {
        "NUMBA_CACHE_DIR": str(named),
        "TMPDIR": str(home / "tmp"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{home}",
    }
    ran = subprocess.run(
        [sys.executable, "program.py", *map(str, arguments)],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, kept = map(int, ran.stdout.split())
    return loaded, kept


def _kernels(folder: Path) -> int:
    return len(list(folder.rglob("*.nbc")))


def test_the_folder_that_is_named_alone_counts(home: Path) -> None:
    """What lies in the private folder, from a run that could write nowhere else, is not loaded."""
    (home / "file").touch()
    assert _run(home, home / "file" / "kernels") == (0, 2)
    assert _kernels(home / "tmp") == 1
    assert _run(home, home / "file" / "kernels") == (1, 2)
    assert _run(home, home / "named") == (0, 2)
    assert _kernels(home / "named") == 1


def test_a_folder_that_is_read_only_is_read(home: Path) -> None:
    """As in the image of a container; what it lacks is put into the private folder."""
    named = home / "named"
    _run(home, named)
    assert _run(home, named, named, "read-only") == (1, 2)
    assert _kernels(home / "tmp") == 0
    with (home / "kernel.py").open("a") as source:
        source.write("# Another.\n")
    assert _run(home, named, named, "read-only") == (0, 2)
    assert (_kernels(named), _kernels(home / "tmp")) == (1, 1)


def test_a_mark_in_a_folder_that_is_read_only_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is compiled again beside it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("support.compiling.is_writable", lambda folder: folder != tmp_path)
    assert compiled.missing_units(["queues"]) == ["queues"]
    (tmp_path / compiled._mark("queues")).write_text("{}")
    assert compiled.missing_units(["queues"]) == []


def test_a_full_disk_is_no_place_for_kernels(home: Path, disk: Path) -> None:
    """Kernels go into the private folder, and the next process finds them there."""
    (disk / "filler").write_bytes(bytes(DISK_BYTES - 100_000))
    assert _run(home, disk / "kernels") == (0, 2)
    assert (_kernels(disk), _kernels(home / "tmp")) == (0, 1)
    assert _run(home, disk / "kernels") == (1, 2)


def test_a_disk_that_becomes_full_ends_nothing(home: Path, disk: Path) -> None:
    """The kernel runs, and no file is named, so that no mark says that the kernels are kept."""
    (disk / "filler").write_bytes(bytes(DISK_BYTES))
    assert _run(home, disk / "kernels", disk / "kernels", "writable") == (0, 0)
