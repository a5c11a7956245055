"""What all commands share: bad usage is one line, and so is every other error."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from instances.telling import one_line


class UsageError(Exception):
    """Bad usage of a command; the message is one line."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of printing its usage and ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise the complaint.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(message)


def complain(program: str, reason: object) -> None:
    """Print one line on standard error."""
    print(f"{program}: {one_line(reason)}", file=sys.stderr)
