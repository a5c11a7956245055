"""Every named commit of kvopt is in a clone."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from kvopt.runs import provenance
from tests.docs.pages import PAGES

ROOT = Path(__file__).resolve().parents[1]
_NAMED = {
    ".csv": re.compile(r",([0-9a-f]{40}),"),
    ".json": re.compile(r'"git_commit": "([^"]+)"'),
    ".md": re.compile(r"commits?\s+`([0-9a-f]{7,40})`"),
}
_FILES = [
    *(ROOT / "reports").glob("*/*.csv"),
    ROOT / "instances/best_known.json",
    *(ROOT / "instances/best_known/schedules").glob("*.json"),
    *PAGES,
    ROOT / "CHANGELOG.md",
]
#: Commits of vidur and of inference-sim.
_OF_OTHERS = {"7d47513", "f90a1e3", "182b75ea", "9979a9ac", "ce6ddc4d"}


@cache
def _ancestors() -> list[str]:
    """Return the commits of the clone; skip where it has not all of them."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("no clone with all its commits")
    return git("rev-list", "HEAD").split()


@pytest.mark.parametrize("kind", sorted(_NAMED))
def test_a_named_commit_is_an_ancestor(kind: str) -> None:
    """Of rows, the registry, its schedules and the pages; an empty commit names none."""
    ancestors = _ancestors()
    named = {
        commit: file.relative_to(ROOT)
        for file in _FILES
        if file.suffix == kind
        for commit in _NAMED[kind].findall(file.read_text(encoding="utf-8"))
    }
    assert named
    known = {each[: len(commit)] for commit in named for each in ancestors}
    assert {commit: named[commit] for commit in named.keys() - known - _OF_OTHERS} == {}


def test_a_run_of_changed_sources_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one of a folder within another repository; a file next to the packages is no source."""
    monkeypatch.setattr(provenance, "CHECKOUT", True)

    def commit(root: Path) -> str | None:
        monkeypatch.setattr(provenance, "ROOT", root)
        return provenance._git_commit.__wrapped__()

    assert commit(tmp_path) is None
    source = tmp_path / "kvopt" / "one.py"
    source.parent.mkdir()
    source.write_text("A = 1\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init"], ["add", "."], ["commit", "-m", "one"]):
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "runs.sqlite").touch()
    assert re.fullmatch("[0-9a-f]{40}", str(commit(tmp_path)))
    assert commit(source.parent) is None
    source.write_text("A = 2\n")
    assert commit(tmp_path) is None
    source.write_text("A = 1\n")
    (tmp_path / "kvopt" / "two.py").touch()
    assert commit(tmp_path) is None
