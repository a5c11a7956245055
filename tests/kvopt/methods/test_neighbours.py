"""Everything in the folder of a file of the user's decides what it does, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kvopt.methods.custom_file_sources
from kvopt.commands.evaluate import main as evaluate
from kvopt.methods.custom_file_sources import neighbours
from kvopt.methods.fingerprint import UNREAD, fingerprint, unread_neighbours
from kvopt.methods.grammar import read_method
from kvopt.store import Store
from tests.kvopt.sweep_tools import Capture, Patch, write_small

POLICY = """\
from heuristics.policy import ListPolicy
{imports}
POLICY = ListPolicy("mine", rank=lambda known: (weight() * known.outputs,))
"""
#: How a file may come by what decides, and where that stands.
WAYS = {
    "relative": ("from package import weight", "package/core.py", "def weight(): return {}"),
    "dynamic": (
        "import importlib\nweight = importlib.import_module('help' + 'er').weight",
        "helper.py",
        "def weight(): return {}",
    ),
    "data": (
        "import json, pathlib\n"
        "def weight(): return json.loads(pathlib.Path(__file__).with_name('w.json').read_text())",
        "w.json",
        "{}",
    ),
    "link": (
        "import pathlib\n"
        "def weight(): return int(pathlib.Path(__file__).with_name('link').read_text())",
        "../beside/w.txt",
        "{}",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a policy, a package, and a link that leads out of it."""
    (tmp_path / "own" / "package").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    (tmp_path / "own" / "package" / "__init__.py").write_text("from .core import weight\n")
    (tmp_path / "own" / "link").symlink_to("../beside/w.txt")
    return tmp_path / "own"


def _stored(store: Path) -> list[int]:
    reader = Store(store, readonly=True)
    try:
        return sorted(tel for (tel,) in reader.select("tel"))
    finally:
        reader.close()


@pytest.mark.parametrize("way", WAYS)
def test_what_a_file_uses_is_run_again_when_it_is_edited(
    way: str, folder: Path, capsys: Capture
) -> None:
    """And only then, though the store is in the folder."""
    imports, name, text = WAYS[way]
    (folder / "mine.py").write_text(POLICY.format(imports=imports))
    (folder / name).write_text(text.format(1))
    (instance,) = write_small(folder, 1)
    store = folder / "s.sqlite"
    asked = [str(instance), f"--methods=file:{folder / 'mine.py'}", f"--store={store}"]
    for _ in range(2):
        assert evaluate(asked) == 0
    (first,) = _stored(store)
    (folder / name).write_text(text.format(-1))
    assert evaluate(asked) == 0
    told = capsys.readouterr()
    assert "1 run, 0 of them stored already" in told.out
    assert "mine.py: its sources have changed since 1 stored run" in told.err
    # M = 5, s = 1, o = 1, 1, 3, 3: the shortest first end at 1, 1, 4 and 7; the longest first at 3
    # and 6, and the others beside the second at 4 and 5.
    assert (first, max(_stored(store))) == (13, 18)


@pytest.mark.usefixtures("no_figures")
def test_what_the_command_writes_makes_nothing_stale(folder: Path) -> None:
    """Store, export and report in the folder, also of the command before."""
    (folder / "mine.py").write_text("def solve(instance):\n    return [0, 1, 2, 5]\n")
    (instance,) = write_small(folder, 1)
    asked = [str(instance), f"--methods=file:{folder / 'mine.py'}", f"--store={folder / 's.db'}"]
    for name, more in (("e.csv", [f"--report={folder / 'pages'}"]), ("f.csv", [])):
        assert evaluate([*asked, f"--export={folder / name}", *more]) == 0
    assert len(_stored(folder / "s.db")) == 1


def test_a_program_counts_with_what_it_runs(folder: Path) -> None:
    """Its interpreter's file, and the right to be executed."""
    program, script = folder / "run.sh", folder / "impl.py"
    program.write_text("#!/bin/sh\nexec python3 impl.py\n")
    program.chmod(0o755)
    seen = set()
    for step in (
        lambda: script.write_text("print([0])\n"),
        lambda: script.write_text("print([1])\n"),
        lambda: script.chmod(0o755),
        lambda: script.rename(folder / "other.py"),
    ):
        step()
        seen.add(fingerprint(read_method(f"file:{program}")))
    assert len(seen) == 4


def test_a_row_of_a_folder_that_changes_meanwhile_is_not_taken(
    folder: Path, capsys: Capture
) -> None:
    """A program writes beside itself: its runs end well, and run again."""
    program = folder / "run.sh"
    program.write_text("#!/bin/sh\ncat > /dev/null\ndate +%N >> seen.txt\necho '[0, 1, 2, 5]'\n")
    program.chmod(0o755)
    (instance,) = write_small(folder, 1)
    asked = [str(instance), f"--methods=file:{program}", f"--store={folder / 's.sqlite'}"]
    for _ in range(2):
        assert evaluate(asked) == 0
        told = capsys.readouterr()
        assert "1 run, 0 of them stored already" in told.out
        assert "run.sh: its sources have changed during the sweep" in told.err


def test_a_link_to_a_folder_counts_by_where_it_leads(folder: Path) -> None:
    """Both folders are in the digest themselves; which of them is the current one is, too."""
    (folder / "mine.py").write_text("def solve(instance): ...\n")
    for name in ("v1", "v2"):
        _filled(folder / name, "order.txt")
    found = set()
    for name in ("v1", "v2"):
        (folder / "current").unlink(missing_ok=True)
        (folder / "current").symlink_to(name)
        found.add(neighbours(folder / "mine.py").digest)
    assert len(found) == 2


def test_too_much_is_never_taken_and_said(folder: Path, monkeypatch: Patch) -> None:
    """Each call has another digest, and a line says why; a loop of links is no more than itself."""
    (folder / "mine.py").write_text("def solve(instance): ...\n")
    (folder / "package" / "loop").symlink_to("..")
    method = read_method(f"file:{folder / 'mine.py'}")
    assert fingerprint(method) == fingerprint(method)
    assert not unread_neighbours([method])
    for name in ("MOST_FILES", "MOST_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(kvopt.methods.custom_file_sources, name, 2)
            found = {fingerprint(method) for _ in range(2)}
            assert len(found) == 2
            assert all(each.startswith(UNREAD) for each in found)
            assert "its folder has more than" in unread_neighbours([method])[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "package" / "__pycache__").mkdir(),
        lambda folder: (folder / "runs.sqlite-wal").write_text("wal"),
        lambda folder: (folder / "slurm-1.out").write_text("words"),
        lambda folder: write_small(folder, 2),
        lambda folder: _filled(folder / "env", "pyvenv.cfg"),
        lambda folder: _filled(folder / "pages", ".kvopt-report"),
    ],
)
def test_what_does_not_count(folder: Path, change: Callable[[Path], object]) -> None:
    """Caches, stores, logs, instances, virtual environments and reports."""
    (folder / "mine.py").write_text("def solve(instance): ...\n")
    before = neighbours(folder / "mine.py")
    change(folder)
    assert neighbours(folder / "mine.py") == before


def _filled(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / name).touch()
    (folder / "more.py").touch()


def test_packages_count_by_folder_or_by_version(tmp_path: Path, monkeypatch: Patch) -> None:
    """One on PYTHONPATH by its files, one of pip's by name; a plug-in by its outermost package."""
    lab, plug = tmp_path / "path" / "lab", tmp_path / "site-packages" / "plug"
    own = tmp_path / "own" / "mine.py"
    for package in (lab, plug / "deep", own.parent):
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    for path in (own, plug / "deep" / "mine.py"):
        path.write_text("def solve(instance):\n    import numpy, lab\n    from plug import deep\n")
    for package in (lab, plug):
        monkeypatch.syspath_prepend(package.parent)
    before = neighbours(own)
    assert before.modules == {"numpy", "plug"}
    (lab / "__init__.py").write_text("x = 1\n")
    assert neighbours(own) != before
    before = neighbours(plug / "deep" / "mine.py")
    (plug / "core.py").write_text("x = 1\n")
    assert neighbours(plug / "deep" / "mine.py") != before
