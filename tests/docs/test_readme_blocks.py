"""Every command and code block of the README is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.docs.running import called, run

RUN = [block for block in blocks(ROOT / "README.md") if block.is_run]


@pytest.mark.parametrize("block", RUN, ids=called)
def test_the_block_runs(block: Block, tmp_path: Path) -> None:
    """As it stands, but for what its marker changes."""
    ran = run(block, tmp_path)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"


def test_the_commands_are_run() -> None:
    """Four blocks here: solve, kvopt, evaluate, and the benchmarks; the API's is ``elsewhere``."""
    assert [block.language for block in RUN] == ["sh"] * 4
    (elsewhere,) = [block for block in blocks(ROOT / "README.md") if block.language == "python"]
    assert "tests/kvopt/test_api.py" in elsewhere.elsewhere
