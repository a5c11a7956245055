"""What the workflows run is named by its content: actions by commit, packages by hash."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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
    wanted = set(_versions((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    found = _versions(text)
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_nothing_is_installed_from_a_named_place() -> None:
    """Neither file says from which index a package comes."""
    for name in ("constraints.txt", "requirements.lock"):
        assert "://" not in (ROOT / name).read_text(encoding="utf-8")


def _versions(text: str) -> list[tuple[str, str]]:
    pairs = re.findall(r"^([\w.-]+)==([\w.]+)", text, flags=re.MULTILINE)
    return [(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in pairs]
