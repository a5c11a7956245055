"""Declaration of a kind of batch-time model, and the reader of its numbers."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from instances.batch_time import MOST_PICOSECONDS, PICOSECONDS_PER_MS, BatchTime, BatchTimeError
from support.message_text import printable

#: Decimal numbers in ASCII digits, of a length that costs nothing to read.
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?(?:e[+-]?[0-9]{1,2})?", re.IGNORECASE)
_INTEGER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class BatchTimeOption:
    """Option of a model: a name, the text of its default, its meaning."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True)
class BatchTimeKind:
    """A kind of batch-time model: its name, and the builder from option texts or from a path."""

    name: str
    build: Callable[[Any], BatchTime]
    options: tuple[BatchTimeOption, ...] = ()
    takes_file: bool = False
    summary: str = field(default="", compare=False)


def exact(where: str, text: str) -> Fraction:
    """Return a number of at least 0 as written, or raise a BatchTimeError."""
    if not _NUMBER.fullmatch(text):
        raise BatchTimeError(
            f"{where}: expected a decimal number of at least 0, found {printable(text, 60)!r}"
        )
    return Fraction(text)


def picoseconds(where: str, text: str) -> int:
    """Return a number of milliseconds in picoseconds, rounded (ties to even)."""
    value = exact(where, text) * PICOSECONDS_PER_MS
    if value > MOST_PICOSECONDS:
        raise BatchTimeError(f"{where}: expected at most 10^9 ms, found {printable(text, 60)}")
    return round(value)


def whole(where: str, text: str) -> int:
    """Return an integer from 0 to 10^18 - 1, or raise a BatchTimeError."""
    if not _INTEGER.fullmatch(text):
        found = printable(text, 60)
        raise BatchTimeError(f"{where}: expected an integer from 0 to 10^18 - 1, found {found!r}")
    return int(text)
