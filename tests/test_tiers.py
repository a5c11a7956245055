"""Slow tests have a reason, and .ci/run runs them after the README's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import KINDS

ROOT = Path(__file__).resolve().parents[1]

_SLOW = "@pytest.mark.slow({})\ndef test_slow{}(): pass\n"


def _run(folder: Path, reasons: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run a quick test and slow ones, one a reason, under the configuration of the project."""
    for name in ("pyproject.toml", "tests/tiers.py", "tests/conftest.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    slow = [_SLOW.format(reason, number) for number, reason in enumerate(reasons)]
    text = "".join(["import pytest\n", *slow, "def test_quick(): pass\n"])
    (folder / "tests" / "test_some.py").write_text(text)
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(("words", "ran"), [((), "quick"), (("-m", "slow"), "slow0")])
def test_each_tier_runs_by_itself(words: tuple[str, ...], ran: str, tmp_path: Path) -> None:
    """Without a word the quick tests, with ``-m slow`` the others."""
    shown = _run(tmp_path, ['"walks"'], "-vv", *words).stdout
    assert "1 passed, 1 deselected" in shown
    assert f"test_{ran} PASSED" in shown


def test_the_page_lists_the_reasons() -> None:
    """CONTRIBUTING has the same reasons in the same words."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE)) == KINDS


def test_ci_runs_the_slow_tests_after_the_readme_s() -> None:
    """The README's command, its last part with ``-m slow``, and the papers."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line.startswith("bash -c")]
    assert commands == ['bash -c "$test_command"', 'bash -c "${test_command##*&& } -m slow"']
    assert [line for line in lines if not line.startswith("#")][-2:] == [commands[-1], ".ci/papers"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = readme.partition("# install and test\n")[2].partition("\n")[0]
    said = subprocess.run(
        ["bash", "-c", f"test_command='{command}'; echo \"${{test_command##*&& }} -m slow\""],
        capture_output=True,
        text=True,
    ).stdout
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"\n{said}" in contributing
