"""An engine's process in which every bound is one too high, to show that the attack sees it."""

from __future__ import annotations

from typing import Any

from kvopt.running.job import Report
from tests import engine_batch

_say = Report.__call__


def _lie(self: Report, kind: str, **data: Any) -> None:
    if kind == "bound":
        data["value"] += 1
    _say(self, kind, **data)


if __name__ == "__main__":
    Report.__call__ = _lie  # type: ignore[method-assign]
    engine_batch.main()
