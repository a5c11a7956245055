"""The command that runs, whether it was called from a shell or from Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The commands that were called from Python: each one's name and its arguments.
_called: list[list[str]] = []


@contextmanager
def called(command: list[str]) -> Iterator[None]:
    """Have a command and its arguments taken for this process's within."""
    _called.append(command)
    try:
        yield
    finally:
        _called.remove(command)


def own_command() -> list[str]:
    """Return the command that runs: the program's name and its arguments."""
    return _called[-1] if _called else [Path(sys.argv[0]).name, *sys.argv[1:]]
