"""The README's picture is that of the library's instance, its best schedule and the policy."""

from __future__ import annotations

from reports.pictures.__main__ import main
from tests.pins import as_pinned


@as_pinned("matplotlib")
def test_the_committed_picture_is_fresh() -> None:
    """Drawn again it is the same, byte for byte."""
    assert main(["--check"]) == 0
