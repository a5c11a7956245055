"""What a kind of batch-time model declares, and how its numbers are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from instances.batch_time.model import (
    MOST_PICOSECONDS,
    PICOSECONDS_PER_MS,
    BatchTime,
    BatchTimeError,
)
from support.text import printable

#: Decimal numbers in ASCII digits, of a length that costs nothing to read.
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?(?:e[+-]?[0-9]{1,2})?", re.IGNORECASE)
_INTEGER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Option:
    """What stands in the parentheses of a model: a name, the text of its default, its meaning."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True)
class BatchTimeKind:
    """A kind of batch-time model.

    Attributes
    ----------
    name
        What its text begins with.
    build
        Returns the model, given the text of each option by name, or for one that takes a file all
        that stands in the parentheses.
    options
        What it takes, in the order in which values without a name are taken.
    takes_file
        Whether the parentheses hold the path of a file.
    summary
        One line for listings (filled from the module's docstring).
    """

    name: str
    build: Callable[[Any], BatchTime]
    options: tuple[Option, ...] = ()
    takes_file: bool = False
    summary: str = field(default="", compare=False)


def exact(where: str, text: str) -> Fraction:
    """Return a number as it is written.

    Raises
    ------
    BatchTimeError
        If it is not a decimal number of at least 0.
    """
    if not _NUMBER.fullmatch(text):
        raise BatchTimeError(
            f"{where}: expected a decimal number of at least 0, found {printable(text, 60)!r}"
        )
    return Fraction(text)


def picoseconds(where: str, text: str) -> int:
    """Return a number of milliseconds in picoseconds, rounded (ties to even).

    Raises
    ------
    BatchTimeError
        If it is no number, or too large.
    """
    value = exact(where, text) * PICOSECONDS_PER_MS
    if value > MOST_PICOSECONDS:
        raise BatchTimeError(f"{where}: expected at most 10^9 ms, found {printable(text, 60)}")
    return round(value)


def whole(where: str, text: str) -> int:
    """Return an integer of at least 0.

    Raises
    ------
    BatchTimeError
        If it is none.
    """
    if not _INTEGER.fullmatch(text):
        raise BatchTimeError(
            f"{where}: expected an integer of at least 0, found {printable(text, 60)!r}"
        )
    return int(text)
