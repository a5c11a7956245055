"""An engine's process in which every bound is one too high, to show that the attack sees it."""

from __future__ import annotations

from typing import Any

from kvopt.running.events import Report
from tests import engine_batch

_say = Report.bound


def _lie(self: Report, value: int, source: str, certificate: dict[str, Any] | None = None) -> None:
    _say(self, value + 1, source, certificate)


if __name__ == "__main__":
    Report.bound = _lie  # type: ignore[method-assign]
    engine_batch.main()
