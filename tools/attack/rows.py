"""The file of raw rows: one JSON line an instance, appended at once, so that a kill loses none."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any


class RowsError(Exception):
    """The file is not one of this attack; the message is one line."""


class Rows:
    """Rows by number, those of an earlier run of the same seed first.

    A line that a kill tore is cut off.

    Raises
    ------
    RowsError
        If the file holds something else or rows of another seed.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._path, self._lock = path, threading.Lock()
        head = {"attack": 1, "seed": seed}
        self.found: dict[int, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.read_bytes() if path.exists() else b""
        kept = whole[: whole.rfind(b"\n") + 1]
        try:
            first, *others = [json.loads(line) for line in kept.splitlines()] or [head]
            self.found = {row["number"]: row for row in others}
        except (ValueError, KeyError, TypeError):
            raise RowsError(f"{path}: expected rows of an attack") from None
        if first != head:
            raise RowsError(f"{path}: expected {head}, found {str(first)[:100]}")
        if not kept:
            path.write_text(json.dumps(head) + "\n", encoding="utf-8")
        elif kept != whole:
            with path.open("r+b") as file:
                file.truncate(len(kept))

    def add(self, row: dict[str, Any]) -> None:
        """Append a row."""
        line = json.dumps(row) + "\n"
        with self._lock:
            self.found[row["number"]] = row
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
