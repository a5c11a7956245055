"""The page of measured runs shows the figures that are kept beside it."""

from __future__ import annotations

import sys

import pytest

from tools.measured import main


def test_the_table_is_that_of_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line; an argument more is no check."""
    monkeypatch.setattr(sys, "argv", ["measured", "--check"])
    assert main() == 0
