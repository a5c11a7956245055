"""Standard output and error that never end a command: results come before complaints of them."""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

_FAILED = 2


class SteadyStream:
    """A text stream that is given up, without an error, once it cannot be written.

    ``failure`` is one line, of a full disk say; None while the stream works or its reader has gone.
    """

    def __init__(self, stream: Any) -> None:
        self.failure: str | None = None
        self._stream = stream
        # File names and request names may hold characters that the terminal lacks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write text, or nothing any more."""
        with self._giving_up():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on the written text."""
        with self._giving_up():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) not in (errno.EPIPE, errno.EIO):
                self.failure = getattr(error, "strerror", None) or str(error)
            # Text that is still held back, here or by Python at its end, goes nowhere.
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)


def run_steadily(program: str, run: Callable[[], int]) -> int:
    """Run a command with steady streams; return its exit code.

    Where memory or the disk below standard output is full, one line says so, and 0 becomes 2.
    """
    before = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        # Python has None for a closed one.
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if not isinstance(stream, SteadyStream):
            setattr(sys, name, SteadyStream(stream))
    try:
        code = run()
        sys.stdout.flush()
        failure = getattr(sys.stdout, "failure", None)
        if failure is None:
            return code
        print(f"{program}: standard output could not be written: {failure}", file=sys.stderr)
        return code or _FAILED
    except MemoryError:
        print(f"{program}: out of memory", file=sys.stderr)
        return _FAILED
    finally:
        sys.stdout, sys.stderr = before
