"""Every command and code block of the pages is run, and what they show comes out."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, read_blocks, shown
from tests.docs.running import called, printed, run

BLOCKS = [block for page in PAGES for block in blocks(page)]
RUN, SLOW = [block for block in BLOCKS if block.is_run], pytest.mark.slow("walks")
#: The blocks that show what comes out.
PRINTED = {k: v for page in PAGES for k, v in printed(blocks(page)).items()}
#: The bound that a search finds in its time.
_VARIES = re.compile(
    r"^(?:lower bound|gap %|left to gain) .*$|(?<=below\s)[\d.]+"
    r"|(?:(?<=at most )|(?<=more than ))[\d.]+(?= %)",
    re.MULTILINE,
)
LANGUAGES = {"", "bibtex", "cpp", "json", "markdown", "mermaid", "python", "sh", "text", "toml"}


@pytest.mark.parametrize(
    "block",
    [
        each if shown(each.page) == "docs/problem.md" else pytest.param(each, marks=SLOW)
        for each in RUN
    ],
    ids=called,
)
def test_the_block_runs(block: Block, tmp_path: Path) -> None:
    """As it stands, but for what its marker changes; its output and reports hold what is shown."""
    ran = run(block, tmp_path)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    if block in PRINTED:
        reports = sorted(tmp_path.glob("results/*/README.md"))
        came = "".join([ran.stdout, ran.stderr, *(page.read_text() for page in reports)])
        assert _lost(PRINTED[block].text, came) == []


def _lost(shown: str, came: str) -> list[str]:
    """Return the lines of a page that do not come out, but for what the search's time decides."""
    # What is too long for a line goes on below, indented.
    came = " ".join(_VARIES.sub("", re.sub(r"\n {8,}", " ", came)).split())
    lines = _VARIES.sub("", shown).splitlines()
    return [line for line in lines if " ".join(line.split()) not in came]


def test_no_block_is_passed_over() -> None:
    """A block is run, written, or elsewhere for a reason that names a file; or no program."""
    assert {block.language for block in BLOCKS} <= LANGUAGES
    readme = [block for block in RUN if block.page.name == "README.md"]
    assert [block.language for block in readme] == ["sh"] * 3
    assert sum(block in PRINTED for block in readme) == 1
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
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
    with pytest.raises(ValueError, match="no marker"):
        read_blocks(ROOT / "page.md", text)


@pytest.mark.parametrize(
    ("line", "code"),
    [("false", 1), ("true", 0), ("false  # exits 1", 0), ("true  # exits 1", 1), ("(exit 3)", 3)],
)
def test_a_command_that_fails_is_seen(line: str, code: int, tmp_path: Path) -> None:
    (block,) = read_blocks(ROOT / "README.md", f"```sh\n{line}\ntrue\n```\n")
    assert run(block, tmp_path).returncode == code
