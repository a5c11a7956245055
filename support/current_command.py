"""The command that runs, by a shell or by a call from Python."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The commands that Python called: each one's name and its arguments.
_called: list[list[str]] = []


@contextmanager
def set_command(command: list[str]) -> Iterator[None]:
    """Make a command and its arguments this process's within."""
    _called.append(command)
    try:
        yield
    finally:
        _called.remove(command)


def current_command() -> list[str]:
    """Return the command that runs: the program's name and its arguments."""
    return _called[-1] if _called else [Path(sys.argv[0]).name, *sys.argv[1:]]
