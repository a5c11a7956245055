"""Imports keep the contracts of pyproject.toml, and a parent loads no engine."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

from kvopt.project_paths import PACKAGES
from tests.tiers import a_few

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
ENGINES = ("highspy", "ortools", "pyomo")
#: Packages that delay the first line.
HEAVY = ("numpy", "pandas", "pydantic", "scipy", "matplotlib", "numba", *ENGINES)


LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"


def _python(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_packages_are_the_same_everywhere() -> None:
    """What is installed, linted and shown from its own folder on; papers are linted only."""
    found = SETTINGS["setuptools"]["packages"]["find"]["include"]
    assert {name.removesuffix(".*") for name in found} == set(PACKAGES)
    assert SETTINGS["importlinter"]["root_packages"] == [*PACKAGES, "papers"]
    assert set(PACKAGES) == {path.parent.name for path in ROOT.glob("*/py.typed")}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources in another folder."""
    folder = tmp_path_factory.mktemp("layers")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in (*PACKAGES, "papers"):
        nothing = shutil.ignore_patterns("*.json", "__pycache__", "tests")
        shutil.copytree(ROOT / name, folder / name, ignore=nothing)
    return folder


def test_the_arrows_run_one_way(copy: Path) -> None:
    """All contracts are kept."""
    linted = _python(LINT, copy)
    assert linted.returncode == 0, linted.stdout + linted.stderr


#: A file, a module that it must not import, and the contract that forbids this.
WRONG = [
    ("schedules/schedule_metrics.py", "heuristics.arrival_queue", "Arrows run one way"),
    ("formulations/formulation_registry.py", "heuristics.arrival_queue", "Arrows run one way"),
    ("heuristics/policy.py", "formulations.mip", "Arrows run one way"),
    ("heuristics/round_driver.py", "serving.metrics", "Arrows run one way"),
    ("reports/table.py", "papers.experiment", "Arrows run one way"),
    ("kvopt/api.py", "kvopt.commands.entry_point", "Only the command line"),
    ("instances/instance_files.py", "formulations.formulation_registry", "checker shares no code"),
    ("serving/deployments.py", "serving.bounds.loads", "The checker shares no code"),
    ("formulations/valid/windows.py", "formulations.lagrangian.price_bound", "in layers"),
    ("kvopt/sweeps/plan.py", "highspy", "Engines are imported by formulations"),
    ("kvopt/store/store.py", "kvopt.sweeps.plan", "Inside kvopt"),
    ("formulations/cp/cpsat_model.py", "formulations.valid.windows", "the CP model and all"),
    (
        "formulations/certificates/reader_budget.py",
        "formulations.lagrangian.exact_integers",
        "the certificate of a sweep and all",
    ),
    ("formulations/dp/state_bounds.py", "formulations.cp.cpsat_model", "searches and models"),
    ("kvopt/runs/state.py", "serving.batch_time_choice", "one file knows what is in seconds"),
    ("serving/bounds/loads.py", "kvopt.runs.task", "knows nothing of runs"),
]
#: Files that import it inside a function.
INSIDE = ("heuristics/policy.py", "formulations/certificates/reader_budget.py")


@pytest.fixture(scope="module")
def broken(copy: Path) -> list[str]:
    """What is said of each broken contract once a copy has all of these imports."""
    folder = shutil.copytree(copy, copy.with_name("broken"))
    for file, imported, _ in WRONG:
        with (folder / file).open("a", encoding="utf-8") as source:
            indent = "def f():\n    " if file in INSIDE else ""
            source.write(f"\n{indent}import {imported}\n")
    linted = _python(LINT, folder)
    assert linted.returncode == 1, linted.stdout + linted.stderr
    # Each begins with its name, underlined.
    return re.split(r"\n(?=.+\n-{4,}\n)", linted.stdout.partition("Broken contracts")[2])


@pytest.mark.parametrize(("file", "imported", "contract"), WRONG)
def test_an_arrow_the_wrong_way_is_seen(
    broken: list[str], file: str, imported: str, contract: str
) -> None:
    """The contract that forbids an import names it."""
    module = file.removesuffix(".py").replace("/", ".")
    arrow = f"{module} -> {imported} (l."
    assert [told for told in broken if contract in told.splitlines()[0] and arrow in told]


def test_the_pseudocode_shares_no_code_with_the_policies() -> None:
    """It imports instances and schedules only, and neither simulator nor policies import it."""
    graph = grimp.build_graph(*PACKAGES)
    reference = {"heuristics.reference", *graph.find_descendants("heuristics.reference")}
    allowed = ("instances", "schedules", "support", "heuristics.reference")
    for module in graph.find_descendants("heuristics"):
        own = graph.find_modules_directly_imported_by(module)
        if module in reference:
            assert all(each.startswith(allowed) for each in own), module
        else:
            assert not own & reference, module


@pytest.mark.parametrize(
    ("module", "arguments"),
    a_few(
        [
            ("solve", "tiny_handover --solver highs --out found.json"),
            ("solve", "--list"),
            ("solve", "tiny_handover --solver cpsat --plot found.svg"),
            ("evaluate", "tiny_handover --methods svf,highs,lp-swap"),
        ],
        2,
    ),
)
def test_no_engine_is_loaded_in_the_parent(module: str, arguments: str, tmp_path: Path) -> None:
    """A command that has run engines has imported none."""
    code = (
        f"import os, sys; from kvopt.commands.{module} import main; os.chdir(sys.argv[1])\n"
        "code = main(sys.argv[2:])\n"
        f"found = [name for name in {ENGINES} if name in sys.modules]\n"
        "sys.exit(f'loaded {found}' if found else code)"
    )
    ran = _python(code, ROOT, str(tmp_path), *arguments.split())
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("engine", ["highs", "cpsat", "search", "auto"])
def test_an_engine_starts_without_scipy(engine: str) -> None:
    """Beside Pyomo it takes two seconds, which a run that bounds and policies settle has not."""
    code = f"import sys, kvopt.engines.{engine}; sys.exit('scipy' in sys.modules)"
    ran = _python(code, ROOT)
    assert ran.returncode == 0, ran.stderr


def test_the_first_line_comes_at_once() -> None:
    """What ``kvopt --help`` prints, and what begins and watches a run, loads nothing heavy."""
    code = (
        "import sys; import kvopt.commands.entry_point\n"
        "import kvopt.commands.main; kvopt.commands.main.main(['--help'])\n"
        "kvopt.commands.main.main(['--version'])\n"
        f"sys.exit(str([name for name in {HEAVY} if name in sys.modules]))"
    )
    ran = _python(code, ROOT)
    assert ran.stdout.startswith("Usage: kvopt [OPTIONS] COMMAND")
    assert ran.stderr.strip() == "[]"
