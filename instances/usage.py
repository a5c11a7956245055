"""What all commands share: bad usage is one line, and so is every other error."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from instances.telling import one_line

#: Signs of a URL or of a connection string among the arguments.
_LIKE_SECRET = re.compile(r"://|@|passw", re.IGNORECASE)


class UsageError(Exception):
    """Bad usage of a command; the message is one line."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of printing its usage and ending the process."""

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the options, and quote of what is left over nothing that may be a password."""
        given = list(sys.argv[1:] if args is None else args)
        found, left = self.parse_known_args(given, namespace)
        if left:
            # A password may have been cut at a blank, and stand in any word.
            secret = any(_LIKE_SECRET.search(each) for each in given)
            words = (_option(each) if secret else each for each in left)
            self.error(f"unrecognized arguments: {' '.join(words)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Raise the complaint.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(message)


def _option(argument: str) -> str:
    """Return the option that an argument names, without its value; nothing of any other."""
    return argument.partition("=")[0] if re.match(r"--?[A-Za-z-]+(=|$)", argument) else "***"


def complain(program: str, reason: object) -> None:
    """Print one line on standard error."""
    print(f"{program}: {one_line(reason)}", file=sys.stderr)


def read_positive(text: str, largest: float) -> float:
    """Read a number above 0, up to a largest one."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= largest:
        raise argparse.ArgumentTypeError(
            f"expected a number above 0, at most {largest}, found {text!r}"
        )
    return value


def read_integer(text: str, least: int, largest: int) -> int:
    """Read an integer in a range; no sign, no blanks, no underscores."""
    # As many digits as the largest has, so that a long text is not read as a number at all.
    plain = text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(largest))
    if not (plain and least <= int(text[-20:]) <= largest):
        raise argparse.ArgumentTypeError(
            f"expected an integer from {least} to {largest}, found {text!r}"
        )
    return int(text[-20:])
