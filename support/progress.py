"""Progress of a command on a terminal: a bar of tqdm from two seconds on; silent elsewhere."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, TypeVar

#: Seconds of work from which a bar is shown.
SHOWN_FROM_SECONDS = 2.0

_Item = TypeVar("_Item")

#: Where the command that runs shows its work; None where it shows nothing.
_stream: ContextVar[IO[str] | None] = ContextVar("stream", default=None)


@contextmanager
def showing(stream: IO[str], *, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal what :func:`telling` counts within; outside it nothing is shown."""
    token = _stream.set(None if quiet or not stream.isatty() else stream)
    try:
        yield
    finally:
        _stream.reset(token)


def telling(items: Iterable[_Item], what: str) -> Iterator[_Item]:
    """Yield items, and show how many have been worked on, of how many where that is known.

    ``what`` is done with them, "certificates evaluated" say.
    """
    stream, began, shown = _stream.get(), time.monotonic(), None
    if stream is None:
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else None
    try:
        for done, item in enumerate(items):
            if shown is None and time.monotonic() - began >= SHOWN_FROM_SECONDS:
                shown = bar(stream, desc=what, total=total, initial=done)
            yield item
            if shown is not None:
                shown.update()
    finally:
        if shown is not None:
            shown.close()


def bar(stream: IO[str], **settings: Any) -> Any:
    """Return a bar of tqdm, without a thread or a semaphore of its own."""
    from tqdm import tqdm  # only where something is shown

    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    # Some terminals state a size of 0, with which tqdm would show nothing.
    columns, lines = shutil.get_terminal_size()
    return tqdm(file=stream, ncols=columns - 1, nrows=lines, **settings)
