"""No folder has more lines of Python than its budget, and no large file is tracked."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_BUDGET: dict[str, int] = _PROJECT["tool"]["kvopt"]["budget"]
#: Lines that a folder may be below its budget before the budget has to follow.
_SLACK = 200
_LARGE = 100_000  # bytes
#: Data of instances, rows of runs, pictures.
_DATA = re.compile(r"instances/.*|.*\.(csv|svg|png)")


def _tracked() -> list[Path]:
    """Return the files that git tracks, relative to the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("the files are no checkout")
    names = map(Path, listed.stdout.decode().split("\0")[:-1])
    return [name for name in names if (ROOT / name).is_file()]


def _lines() -> dict[str, int]:
    """Return the lines of Python of each folder of the budget; the deepest folder counts a file."""
    lines = dict.fromkeys(_BUDGET, 0)
    for name in _tracked():
        if name.suffix == ".py":
            folders = [each.as_posix() for each in name.parents]
            folder = next((each for each in folders if each in lines), ".")
            text = (ROOT / name).read_text(encoding="utf-8")
            lines[folder] = lines.get(folder, 0) + len(text.splitlines())
    return lines


def test_every_folder_is_within_its_budget() -> None:
    """A budget follows what is removed, and no folder is without one."""
    lines = _lines()
    assert lines.keys() == _BUDGET.keys()
    above = {folder: count for folder, count in lines.items() if count > _BUDGET[folder]}
    assert above == {}, "lines above the budget: remove some"
    below = {each: count for each, count in lines.items() if count < _BUDGET[each] - _SLACK}
    assert below == {}, "lower the budget in pyproject.toml to these lines"


def test_no_large_file_is_tracked() -> None:
    """Only instances, rows and pictures are above 100 kB."""
    large = [name for name in _tracked() if (ROOT / name).stat().st_size > _LARGE]
    assert [str(name) for name in large if not _DATA.fullmatch(name.as_posix())] == []
