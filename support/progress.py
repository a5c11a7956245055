"""What a command says while it works: one line that is rewritten, or plain lines in a pipe."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
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


class _Status:
    """What is said of a command's work, from two seconds after its beginning on."""

    def __init__(self, stream: IO[str]) -> None:
        self.line = StatusLine(stream)
        self._began = time.monotonic()
        self._due = self._began + TOLD_FROM_SECONDS

    def say(self, text: str, *, last: bool = False) -> bool:
        """Say what goes on, unless something was said just now; tell whether it was said."""
        now = time.monotonic()
        if not last and now < self._due:
            return False
        self.line.show(f"{now - self._began:9.1f} s  {text}")
        every = REWRITTEN_EVERY_SECONDS if self.line.rewrites else TOLD_EVERY_SECONDS
        self._due = now + every
        return True


#: Of the command that runs; None where nobody is to be told.
_status: ContextVar[_Status | None] = ContextVar("status", default=None)


@contextmanager
def showing(stream: IO[str], *, quiet: bool = False) -> Iterator[None]:
    """Show on a stream what :func:`telling` tells within; outside it tells nobody."""
    token = _status.set(None if quiet else _Status(stream))
    try:
        yield
    finally:
        _status.reset(token)


def telling(items: Iterable[_Item], what: str | Callable[[], str]) -> Iterator[_Item]:
    """Yield items, and tell how many have been worked on, of how many where that is known.

    Where something was told before, so is the end.  ``what`` is done with them, "certificates
    evaluated" say; or it returns the whole text.
    """
    status = _status.get()
    if status is None:
        yield from items
        return
    of = f"/{len(items)}" if isinstance(items, Sized) else ""
    done, said = 0, False

    def text() -> str:
        return f"{what}: {done}{of}" if isinstance(what, str) else what()

    try:
        for item in items:
            # Nothing done, of nobody knows how many, is no news.
            said |= bool(done or of) and status.say(text())
            yield item
            done += 1
        if said:
            status.say(text(), last=True)
    finally:
        status.line.leave()
