"""Workflows name their actions by commit and their packages by hash."""

import re
import runpy
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.pins import ROOT, versions_of


def test_actions_are_pinned_by_commit() -> None:
    """A tag can be moved by whoever owns it; a commit cannot."""
    used = [
        line.strip()
        for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) >= 5
    for line in used:
        assert re.fullmatch(r"- uses: [\w-]+/[\w-]+@[0-9a-f]{40}  # v[\d.]+", line), line


def test_the_lock_is_that_of_the_constraints() -> None:
    """Every package at the same version, once, with a hash."""
    wanted = set(versions_of((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    found = versions_of(text)
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert "://" not in text  # no index is named


def test_the_oldest_versions_are_of_every_dependency(capsys: pytest.CaptureFixture[str]) -> None:
    """``.ci/oldest`` prints one pin for each: the release that is stated, and no later series."""
    runpy.run_path(str(ROOT / ".ci" / "oldest"))
    pins = [Requirement(line) for line in capsys.readouterr().out.splitlines()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = [Requirement(line) for line in project["dependencies"]]
    assert [pin.name for pin in pins] == [each.name for each in stated]
    for pin, each in zip(pins, stated, strict=True):
        (least,) = each.specifier
        assert least.operator == ">="
        release = Version(least.version).release
        later = ".".join(map(str, (*release[:-1], release[-1] + 1)))
        assert pin.specifier.contains(least.version), pin
        assert not pin.specifier.contains(later), pin
