"""Every command and code block of the README is run, and what it shows as printed comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.docs.running import called, printed, run

README = blocks(ROOT / "README.md")
RUN = [block for block in README if block.is_run]
#: The block that a block of commands is followed by, where it shows what comes out.
PRINTED = {command.line: text for command, text in printed(README).items()}
#: What depends on the machine: seconds, which of the methods side by side was first, and how far
#: the search for a bound in seconds has come.
_VARIES = re.compile(
    r"^seconds +.*$|(?<=\d)  \(from .*\)$|(?<= and )[\d.]+(?= % of)|(?<=is below\s)[\d.]+",
    re.MULTILINE,
)


def _lasting(text: str) -> str:
    return " ".join(_VARIES.sub("", text).split())


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(each, marks=() if each.line in PRINTED else pytest.mark.slow("walks"))
        for each in RUN
    ],
    ids=called,
)
def test_the_block_runs(block: Block, tmp_path: Path) -> None:
    """As it stands, but for what its marker changes; its output and reports hold what is shown."""
    ran = run(block, tmp_path)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    if block.line in PRINTED:
        reports = sorted(tmp_path.glob("results/*/README.md"))
        came = ran.stdout + "".join(page.read_text(encoding="utf-8") for page in reports)
        lines = re.split(r"(?<=\)\.)\n", PRINTED[block.line].text)
        # What is too long for a line goes on below, indented.
        came = re.sub(r"\n {8,}", " ", came)
        assert [line for line in lines if _lasting(line) not in _lasting(came)] == []


def test_the_commands_are_run_and_compared() -> None:
    """One optimum, and a block for each kind of user; two of them show what comes out."""
    assert [block.language for block in RUN] == ["sh"] * 4
    assert len(PRINTED) == 2
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize(
    ("shown", "equal"),
    [("TEL  45  (from prices)\nseconds  1.2", True), ("TEL  46  (from policy svf)", False)],
)
def test_only_what_the_machine_decides_is_passed_over(shown: str, equal: bool) -> None:
    """The number of a line is compared, its source and the seconds are not."""
    came = "TEL            45  (from policy svf)\nseconds        3.04\n"
    assert (_lasting(shown) in _lasting(came)) == equal
