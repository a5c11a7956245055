"""The folders, ways and names of ``docs/architecture.md`` exist."""

import ast
import re
import subprocess
import sys
from pathlib import Path

from kvopt.project_paths import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
_TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
_STATIONS = re.compile(r'\b\w+\["([\w.]+)<br/>')
#: Dotted names elsewhere in the text.
_NAMES = re.compile(r"\b(?:instances|schedules|kvopt|reports|support)(?:\.\w+)+")


def charts() -> list[list[str]]:
    """Return the stations of each chart."""
    return [_STATIONS.findall(chart) for chart in re.findall(r"```mermaid\n(.*?)```", _TEXT, re.S)]


def exists(name: str) -> bool:
    """Return whether a dotted name is a script, a module, or a name of a module."""
    if name.endswith(".py"):
        return (ROOT / name).is_file()
    parts = name.split(".")
    for module in (parts, parts[:-1]):
        stem = ROOT.joinpath(*module)
        file = stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
        if file.is_file():
            return module == parts or parts[-1] in _defined(file)
    return False


def _defined(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    named = {node.name for node in tree.body if isinstance(node, kinds)}
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    # A package's functions may be loaded on first use: it names them then.
    return named | (texts if file.name == "__init__.py" else set())


def test_both_ways_have_fewer_than_fifteen_stations() -> None:
    """From an instance to the checker, and from a run to a table's cell."""
    first, second = charts()
    assert (first[0], second[0]) == ("solve.py", "evaluate.py")
    assert "schedules.check.check_schedule" in first
    assert 0 < len(first) < 15
    assert 0 < len(second) < 15


def test_every_station_exists() -> None:
    """Each station is a script, a module, or a function or class of one; the test can fail."""
    drawn = {*(name for chart in charts() for name in chart), *_NAMES.findall(_TEXT)}
    assert [name for name in sorted(drawn) if not exists(name)] == []
    assert not any(map(exists, ("no.py", "kvopt.no", "kvopt.runs.no", "kvopt.result.no")))


#: Questions and their answers.
_QUESTIONS = re.findall(
    r"^\| ([^|`]+) \| (`.+`) \|$",
    _TEXT.partition("## Six questions\n")[2].partition("\n## ")[0],
    re.MULTILINE,
)
_PLACE = re.compile(r"`([^`]+)`: `(\w+)`")


def test_a_question_is_answered_by_three_files_at_most() -> None:
    """Each place is a file and a name that it defines, or a text that it has."""
    assert len(dict(_QUESTIONS)) == len(_QUESTIONS) == 6
    for question, answer in _QUESTIONS:
        places = _PLACE.findall(answer)
        assert "; ".join(f"`{file}`: `{name}`" for file, name in places) == answer, question
        assert 1 <= len({file for file, _ in places}) <= 3
        for file, name in places:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {*_named(tree)}, (question, file, name)


def _named(tree: ast.Module) -> list[str]:
    """Return what a file defines, methods too, and the texts that it has."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


MOST_LINES = 60
#: To be cut: the kernels that came last.
LONGER = {
    "serving/bounds/seconds_kernels.py: machine_prices",
    "formulations/certificates/sweep_kernels.py: step_back",
    "formulations/certificates/price_evaluation.py: measured",
    "kvopt/sweeps/comparison.py: comparison",
    "formulations/bounds/pattern_kernels.py: best_patterns_use",
}


def long_functions(text: str) -> list[str]:
    """Return the names of the functions of more lines than that, docstrings included."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, functions) and (node.end_lineno or 0) - node.lineno >= MOST_LINES
    ]


def test_no_function_is_longer_than_a_page() -> None:
    """Docstrings count, and so do the first and the last line."""
    for lines, found in ((MOST_LINES, []), (MOST_LINES + 1, ["f"])):
        assert long_functions("def f():\n" + "    pass\n" * (lines - 1)) == found
    files = sorted(path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py"))
    assert len(files) > 200
    long = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in files
        for name in long_functions(path.read_text(encoding="utf-8"))
    }
    assert long <= LONGER


def test_windows_is_refused_in_a_line() -> None:
    """The import fails at once, with no word of a missing module."""
    code = "import sys; sys.platform = 'win32'; import kvopt"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    ).stderr.splitlines()[-1]
    assert told.startswith("ImportError: kvopt runs on Linux and macOS, not on Windows")
