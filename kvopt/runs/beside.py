"""Better schedules that the parent process sends while this one works."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable


class _Beside:
    """The last schedule that came; ``starts`` are its rounds, in the instance's order."""

    def __init__(self) -> None:
        self.starts: list[int] | None = None

    def listen(self, lines: Iterable[str]) -> None:
        """Read a line a schedule from now on; the parent has checked it."""
        threading.Thread(target=self._read, args=[lines], daemon=True).start()

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.starts = json.loads(line)


BESIDE = _Beside()
