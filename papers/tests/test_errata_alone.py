"""The first errata, derived by a program that shares nothing with kvopt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from papers.ledger.render import errata_text

PROGRAM = Path(__file__).with_name("errata_alone.py")


def test_the_first_errata_hold_without_kvopt(tmp_path: Path) -> None:
    """Isolated, in an empty folder, nothing of the project can be imported; each item holds."""
    made = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.stderr == ""
    assert made.stdout.splitlines() == [f"E{k}: holds" for k in range(1, 17)]
    assert PROGRAM.name in errata_text()
