"""Every command and code block of CONTRIBUTING and docs is run, and none is passed over.

Those of the README are in ``test_readme_blocks``, which a second worker can run at the same time.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, read_blocks, shown
from tests.docs.running import called, run

BLOCKS = [block for page in PAGES for block in blocks(page)]
RUN = [block for block in BLOCKS if block.is_run and block.page.name != "README.md"]
LANGUAGES = {"", "cpp", "json", "mermaid", "python", "sh", "text", "toml"}


#: Pages whose blocks are quick, as are those of the README that show what is printed.
QUICK = ("docs/problem.md",)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(each, marks=() if shown(each.page) in QUICK else pytest.mark.slow("walks"))
        for each in RUN
    ],
    ids=called,
)
def test_the_block_runs(block: Block, tmp_path: Path) -> None:
    """As it stands, but for what its marker changes."""
    ran = run(block, tmp_path)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"


def test_no_block_is_passed_over() -> None:
    """A block is run, written, or elsewhere for a reason that names a file; or no program."""
    assert {block.language for block in BLOCKS} <= LANGUAGES
    assert len(RUN) >= 10
    for block in BLOCKS:
        if block.elsewhere:
            named = re.findall(r"[\w./]+/[\w./]+", block.elsewhere)
            assert named, block.name
            assert all((ROOT / name).is_file() for name in named), block.name
        if block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- test: later -->\n```sh\ntrue\n```\n",
        '<!-- test: "a" -->\n```sh\na\n```\n',
        "<!-- skip: slow -->\n```sh\ntrue\n```\n",
    ],
)
def test_a_marker_of_ones_own_is_refused(text: str) -> None:
    """So nothing is skipped by a word that the tests do not know."""
    with pytest.raises(ValueError, match="no marker"):
        read_blocks(ROOT / "page.md", text)


def test_a_change_must_be_of_something() -> None:
    """A limit that a marker shortens must be in the block."""
    (block,) = read_blocks(ROOT / "page.md", '<!-- test: "60" as "2" -->\n```sh\ntrue 6\n```\n')
    with pytest.raises(ValueError, match="changes '60'"):
        block.changed()


@pytest.mark.parametrize(
    ("line", "code"),
    [("false", 1), ("true", 0), ("false  # exits 1", 0), ("true  # exits 1", 1), ("(exit 3)", 3)],
)
def test_a_command_that_fails_is_seen(line: str, code: int, tmp_path: Path) -> None:
    """And one that should fail and does not."""
    (block,) = read_blocks(ROOT / "README.md", f"```sh\n{line}\ntrue\n```\n")
    assert run(block, tmp_path).returncode == code
