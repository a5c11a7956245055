"""Where kernels are looked for and put: the folder that is named, or a private one beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvopt.running import compiled
from support.checkout import ROOT
from tests.kvopt.conftest import DISK_BYTES

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
