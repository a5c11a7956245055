"""Errors of all commands: bad usage is one line, and so is every other error."""

import math
import sys

from support.message_text import one_line


class UsageError(Exception):
    """Bad usage of a command; the message is one line."""


def complain(program: str, reason: object) -> None:
    """Print one line on standard error."""
    print(f"{program}: {one_line(reason)}", file=sys.stderr)


def read_positive(text: str, largest: float) -> float:
    """Read a number above 0, up to a largest one, or raise ValueError if it is none; one line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= largest:
        raise ValueError(f"expected a number above 0, at most {largest}, found {text!r}")
    return value


def read_integer(text: str, least: int, largest: int) -> int:
    """Read a plain integer in a range, or raise a one-line ValueError."""
    # As many digits as the largest has, so that a long text is not read as a number at all.
    plain = text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(largest))
    if not (plain and least <= int(text[-20:]) <= largest):
        raise ValueError(f"expected an integer from {least} to {largest}, found {text!r}")
    return int(text[-20:])
