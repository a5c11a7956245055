"""What the tests of reports share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take most of the time and are looked at elsewhere."""
    monkeypatch.setattr("reports.build._figure", lambda *_: None)
