"""The package: its files, its commands, the words of its pages, and the commits of its rows."""

import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from papers.__main__ import FOLDER, main, rows_file
from papers.experiment import pages
from papers.experiment_rows import read_rows
from papers.ledger.__main__ import main as ledger
from papers.worst_cases.__main__ import main as worst_cases
from support.click_command import Command
from tests.docs.pages import ROOT, links
from tests.test_words import wrong_words

COMMANDS = (main, ledger, worst_cases)
PAGES = sorted(FOLDER.rglob("*.md"))


def test_the_package_has_all_its_folders() -> None:
    """Every folder with code is named, and the tests are not."""
    made = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {path.parent.relative_to(ROOT) for path in FOLDER.rglob("__init__.py")}
    named = made["tool"]["setuptools"]["packages"]
    assert set(named) == {".".join(folder.parts) for folder in folders}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_the_command_takes_its_examples(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its help is one screen that shows them."""
    assert command(["--help"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 50
    for example in command.examples:
        assert f"{command.name} {example}".rstrip() in shown
        command.make_context(str(command.name), shlex.split(example))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(FOLDER)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every link within the project, in the field's words."""
    found = [link.partition("#")[0] for link in links(page) if "://" not in link]
    assert [link for link in found if not (page.parent / link).exists()] == []
    assert wrong_words(page.read_text(encoding="utf-8")) == []


def test_rows_name_commits_of_this_history() -> None:
    """A commit that is no ancestor cannot be checked out."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout

    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip("the history is not here")
    known = set(git("rev-list", "HEAD").split())
    named = {
        commit for page in pages().values() for commit in read_rows(rows_file(page))["git_commit"]
    }
    assert named - known <= {""}
