"""The wheel: built, installed beside packages that bear the names kvopt gave up, and used there."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from kvopt.project_paths import PACKAGES

ROOT = Path(__file__).resolve().parents[1]

Run = Callable[..., subprocess.CompletedProcess[str]]


def _pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the present sources, built in a copy that holds nothing from before."""
    source = tmp_path_factory.mktemp("source")
    # Scripts and tests must not be installed.
    for name in ("pyproject.toml", "README.md", "LICENSE", "solve.py", "evaluate.py"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        nothing = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=nothing)
    (source / "tests").mkdir()
    (source / "tests" / "test_nothing.py").touch()
    _pip("wheel", source, "--no-deps", "--no-build-isolation", "-w", source / "dist")
    return next((source / "dist").glob("kvopt-*.whl"))


@pytest.mark.slow("walks")
def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """No data is lost on the way, no test is in it, and its citation is."""
    source = tmp_path / "source"
    shutil.copytree(wheel.parents[1], source, ignore=shutil.ignore_patterns("dist", "build"))
    for name in ("MANIFEST.in", "CHANGELOG.md", "CITATION.cff", "references.bib"):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", build, str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    packed = next(tmp_path.glob("kvopt-*.tar.gz"))
    with tarfile.open(packed) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert "tests" not in tops
    assert {"CITATION.cff", *PACKAGES} <= tops
    _pip("wheel", packed, "--no-deps", "--no-build-isolation", "-w", tmp_path)
    again = next(tmp_path.glob("*.whl"))
    assert {*zipfile.ZipFile(wheel).namelist()} == {*zipfile.ZipFile(again).namelist()}


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a fresh environment, in somebody else's Git repository."""
    folder = tmp_path_factory.mktemp("place")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(folder)]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    venv.create(folder / "env", with_pip=False, symlinks=True)
    libraries = sysconfig.get_path("purelib")
    (_site_packages(folder) / "libraries.pth").write_text(f"{libraries}\n")
    alone = ("--no-deps", "--no-index", "--ignore-installed")
    _pip("--python", folder / "env", "install", *alone, wheel)
    (folder / "elsewhere").mkdir()
    return folder


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    """Run a program of the fresh environment in another folder."""

    def call(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(place / "env" / "bin" / program), *map(str, arguments)],
            cwd=place / "elsewhere",
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=600,
        )

    return call


def _site_packages(place: Path) -> Path:
    return next((place / "env" / "lib").glob("python*/site-packages"))


def _ours(place: Path) -> dict[Path, bytes]:
    """Return what lies in the fresh site-packages, but for what Python compiles."""
    files = (file for file in _site_packages(place).rglob("*") if file.is_file())
    return {file: file.read_bytes() for file in files if "__pycache__" not in file.parts}


def test_the_wheel_holds_the_packages_and_their_data(wheel: Path) -> None:
    """Every file of the packages is in it, and at the top nothing but them."""
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert held == {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert {PurePosixPath(name).parts[0] for name in held} == set(PACKAGES)
    # Modules of others, which pip would write over: the second comes with inquirer.
    assert not {"evaluate", "runs"} & set(PACKAGES)


def test_solve_and_check_from_the_wheel(place: Path, run: Run) -> None:
    """An engine and a policy run from another folder, and their schedules are valid."""
    assert run("kvopt", "--version").stdout.startswith("kvopt ")
    for method, check in (
        (["--solver", "highs"], ["python", "-m", "schedules.check"]),
        (["--policy", "svf"], ["kvopt", "check"]),
    ):
        solved = run("kvopt", "solve", "tiny_handover", *method, "--out", "found.json")
        assert solved.returncode == 0, solved.stderr
        checked = run(*check, "instances/tiny/handover.json", "found.json")
        assert (checked.returncode, checked.stdout[:6]) == (0, "valid:")
    made = json.loads((place / "elsewhere" / "found.json").read_text())["provenance"]
    assert made["git_commit"] is None
    assert made["command"][:3] == ["kvopt", "solve", "tiny_handover"]


@pytest.mark.slow("walks")
def test_evaluate_from_the_wheel(place: Path, run: Run) -> None:
    """The store lies in the current folder, rows name the library as a checkout does."""
    inputs = ("instances/tiny/one_*.json", "am1/am1_00", "--methods", "svf", "--time-limit", "20")
    swept = run("kvopt", "evaluate", *inputs, "--report", "report", "--export", "rows.csv")
    assert swept.returncode == 0, swept.stderr
    here = place / "elsewhere"
    assert (here / "results" / "runs.sqlite").is_file()
    assert (here / "report" / "index.html").is_file()
    rows = (here / "rows.csv").read_text()
    assert "tiny_one_token" in rows
    assert "site-packages" not in rows
    again = run("kvopt", "evaluate", *inputs)
    assert ", of which 0 now" in again.stdout


@pytest.mark.slow("walks")
def test_an_own_method_of_the_wheel_runs_beside_files_that_bear_the_projects_names(
    place: Path, run: Run
) -> None:
    """Nothing of the current folder is taken for one of kvopt's modules, or of Python's."""
    folder = place / "elsewhere"
    others = [folder / f"{name}.py" for name in ("kvopt", "instances", "queue", "select")]
    for each in others:
        each.write_text("raise RuntimeError('not this one')\n")
    (folder / "mine.py").write_text("def solve(instance):\n    return [0] * len(instance)\n")
    try:
        ran = run("kvopt", "evaluate", "tiny_all_fit_at_once", "--methods", "file:mine.py")
    finally:
        for each in others:
            each.unlink()
    assert "statuses  1 optimal" in ran.stdout, (ran.stdout, ran.stderr)


#: Proves the values of instances anew of which each kind of certificate is the shortest.
PROVE = """
from instances.instance_names import FOLDER
from kvopt.best_known.registry_files import PROOFS, certificate_path, read_entries
from kvopt.best_known.proved_entry import read_known
from kvopt.best_known.library_and_ladder import library_by_hash
library, entries = library_by_hash(), read_entries(FOLDER)
of = {each.instance: FOLDER / PROOFS / certificate_path(each.instance) for each in entries.values()}
drawn = [each for sha, each in entries.items() if sha in library]
drawn.sort(key=lambda each: of[each.instance].stat().st_size, reverse=True)
shortest = {each.certified.certificate: each for each in drawn}
for each in shortest.values():
    read_known(each, library[each.sha256])
print(*sorted(shortest))
"""


@pytest.mark.slow("walks")
def test_the_checks_of_the_committed_files_pass_in_the_wheel(run: Run) -> None:
    """Library, best-known values and nightly tables are there; some values are proved anew."""
    proved = run("python", "-c", PROVE)
    assert proved.stdout.split() == ["parts", "prices", "sweep", "volumes"], proved.stderr
    for command in (
        ["python", "-m", "instances.library", "--check"],
        ["python", "-m", "schedules.schema", "--check"],
        ["python", "-m", "reports.nightly", "--check"],
    ):
        checked = run(*command)
        assert checked.returncode == 0, (command, checked.stdout, checked.stderr)


@pytest.mark.slow("walks")
def test_nothing_is_written_among_the_installed_packages(place: Path, run: Run) -> None:
    """A command that renews the project's own files says in one line that there is no checkout."""
    before = _ours(place)
    for command in (
        ["python", "-m", "instances.library"],
        ["python", "-m", "schedules.schema"],
        ["kvopt", "best-known", "--store", "results/runs.sqlite"],
        ["python", "-m", "kvopt.best_known.rerun_proofs", "uniform_100"],
        ["python", "-m", "reports.nightly", "--store", "results/runs.sqlite", "--update"],
    ):
        refused = run(*command)
        assert refused.returncode == 2, (command, refused.stdout, refused.stderr)
        # A slow machine tells how far it is.
        (line,) = (x for x in refused.stderr.splitlines() if "instances made" not in x)
        assert "expected a checkout" in line
    assert _ours(place) == before
