"""What a command says while it works: one line that is rewritten, or plain lines in a pipe."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from typing import IO, TypeVar

#: Seconds of work from which it is told of.
TOLD_FROM_SECONDS = 2.0
#: Seconds between two lines where there is a terminal to rewrite one, and where there is none.
REWRITTEN_EVERY_SECONDS, TOLD_EVERY_SECONDS = 0.1, 5.0

_Item = TypeVar("_Item")


class StatusLine:
    """The line that a terminal shows in place of the one before; elsewhere a line of its own."""

    def __init__(self, stream: IO[str]) -> None:
        self.rewrites = stream.isatty()
        self._stream = stream
        self._wide = 0

    def show(self, text: str) -> None:
        """Show a text; on a terminal as much of it as one line holds."""
        if not self.rewrites:
            print(text, file=self._stream, flush=True)
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        # Spaces cover what is left of a longer one.
        print(f"\r{text:<{self._wide}}", file=self._stream, flush=True, end="")
        self._wide = len(text)

    def leave(self) -> None:
        """Let the last text stand; what comes next begins a new line."""
        if self._wide:
            print(file=self._stream, flush=True)
        self._wide = 0


def telling(
    items: Sequence[_Item], what: str, stream: IO[str], *, quiet: bool = False
) -> Iterator[_Item]:
    """Yield items; from two seconds on say how many have been worked on, of how many, and which.

    Parameters
    ----------
    what
        What is done with them, "certificates evaluated" say.
    """
    line = StatusLine(stream)
    began = time.monotonic()
    every = REWRITTEN_EVERY_SECONDS if line.rewrites else TOLD_EVERY_SECONDS
    due = began + TOLD_FROM_SECONDS
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if not quiet and now >= due:
                line.show(f"{now - began:9.1f} s  {done}/{len(items)} {what}")
                due = now + every
            yield item
    finally:
        line.leave()
