"""The page of measured runs shows the figures of its CSV."""

import runpy
import sys
from pathlib import Path

import pytest

_SCRIPT = str(Path(__file__).resolve().parents[1] / "measured.py")


def test_the_table_is_that_of_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check compares them line by line."""
    monkeypatch.setattr(sys, "argv", [_SCRIPT, "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(_SCRIPT, run_name="__main__")
    assert ended.value.code == 0
