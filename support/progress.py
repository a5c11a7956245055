"""Progress of a command on a terminal: a bar of tqdm from two seconds on; silent elsewhere."""

import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, TypeVar

#: Seconds of work from which a bar is shown.
SHOWN_FROM_SECONDS = 2.0

_Item = TypeVar("_Item")

#: The stream on which the command that runs shows its work; None where it shows nothing.
_stream: ContextVar[IO[str] | None] = ContextVar("stream", default=None)


@contextmanager
def show_progress(stream: IO[str], *, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal the items that :func:`count_progress` counts within."""
    token = _stream.set(None if quiet or not stream.isatty() else stream)
    try:
        yield
    finally:
        _stream.reset(token)


def count_progress(items: Iterable[_Item], what: str) -> Iterator[_Item]:
    """Yield items and show their count; ``what`` is like "certificates evaluated"."""
    if (stream := _stream.get()) is None:
        yield from items
        return
    with bar(stream, iterable=items, desc=what, delay=SHOWN_FROM_SECONDS) as shown:
        yield from shown


def bar(stream: IO[str], **settings: Any) -> Any:
    """Return a bar of tqdm that starts no thread and takes no semaphore."""
    from tqdm import tqdm  # only where something is shown

    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    # Some terminals state a size of 0, with which tqdm would show nothing.
    columns, lines = shutil.get_terminal_size()
    return tqdm(file=stream, ncols=columns - 1, nrows=lines, **settings)
