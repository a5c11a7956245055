"""Numbers of a trace, exactly: whole lengths, and times of its units in whole nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from instances.batch_time import NANOSECONDS
from instances.model import MAX_SECONDS, MAX_TOKENS

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
#: Multiplies what :func:`exact` reads, 100 characters at most, without rounding.
_EXACT = Context(prec=200)
#: Digits of an integer that is read without looking further.
_FEW = 15
#: Stands for every length that no memory holds.
TOO_LONG = MAX_TOKENS + 1
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)
#: Last year whose nanoseconds since 1970 have 64 bits whole.
_LAST_YEAR = 2261


def whole(value: Any) -> int | None:
    """Return a length of a CSV field or JSON value; None if it is no whole number.

    What no memory holds becomes ``TOO_LONG``, what is negative -1 at most.
    """
    if type(value) is int:
        return max(min(value, TOO_LONG), -1)
    if type(value) is str and len(value) <= _FEW and value.isascii() and value.isdigit():
        return min(int(value), TOO_LONG)
    number = exact(value)
    if number is None:
        return None
    if number < 0:
        return -1
    if number > MAX_TOKENS:
        return TOO_LONG
    return int(number) if number == number.to_integral_value() else None


def nanoseconds(value: Any, unit: int) -> int | None:
    """Return the time that a CSV field or a JSON value states; None if it states none.

    In nanoseconds, rounded (ties to even), of which its ``unit`` has so many.

    Raises
    ------
    OverflowError
        If the time is negative, or too late for its unit.
    """
    if type(value) is str and len(value) <= _FEW and value.isascii() and value.isdigit():
        value = int(value)
    if type(value) is int:
        found = value * unit
    else:
        number = exact(value)
        if number is None:
            return None
        if abs(number) > MAX_SECONDS * NANOSECONDS // unit + 1:
            raise OverflowError
        found = int(_EXACT.multiply(number, unit).to_integral_value(ROUND_HALF_EVEN))
        if number < 0:
            raise OverflowError
    if not 0 <= found <= MAX_SECONDS * NANOSECONDS:
        raise OverflowError
    return found


def exact(value: Any) -> Decimal | None:
    """Return the number that a field or a JSON value states; None if it states none."""
    if type(value) is int:
        return Decimal(value)
    if type(value) is float:
        # As it is written, not as it is stored.
        value = repr(value)
    if type(value) is str and len(value) <= 100 and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    return None


class TimeError(ValueError):
    """A value is no time of the unit; ``position`` is that in the sequence."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(expected)
        self.position = position


@dataclass(frozen=True)
class Numbers:
    """Numbers of some unit, 0 or more, rounded to whole nanoseconds.

    ``fractions`` is what a fraction of the unit says of the file, where the format has none.
    """

    name: str
    nanoseconds: int
    fractions: str = ""

    def read(self, values: Sequence[Any]) -> Sequence[int]:
        """Return nanoseconds.

        Raises
        ------
        TimeError
            For the first value that is no time of the unit.
        """
        found: list[int] = []
        for value in values:
            try:
                time = nanoseconds(value, self.nanoseconds)
            except OverflowError:
                largest = MAX_SECONDS * NANOSECONDS // self.nanoseconds
                raise TimeError(len(found), f"{self.name} from 0 to {largest:,}") from None
            if time is None:
                raise TimeError(len(found), f"a number of {self.name}")
            if self.fractions and time % self.nanoseconds:
                raise TimeError(len(found), f"whole {self.name} ({self.fractions})")
            found.append(time)
        return found


@dataclass(frozen=True)
class Dates:
    """Dates with times of day; without an offset they count as UTC."""

    name: str = "dates and times"

    def read(self, values: Sequence[Any]) -> Sequence[int]:
        """Return nanoseconds since 1970, or raise as :meth:`Numbers.read` does."""
        import pandas as pd  # only where there are dates: it takes half a second

        expected = "a date and a time as in 2023-11-16 10:00:00.25"
        for position, value in enumerate(values):
            if not isinstance(value, str) or not _DATE.fullmatch(value):
                raise TimeError(position, expected)
            # Of other years the nanoseconds since 1970 are negative or more than 64 bits.
            if not 1970 <= int(value[:4]) <= _LAST_YEAR:
                raise TimeError(position, f"a date from 1970 to {_LAST_YEAR}")
        read = pd.to_datetime(pd.Series(values), format="ISO8601", utc=True, errors="coerce")
        if read.isna().any():
            raise TimeError(int(read.isna().to_numpy().argmax()), expected)
        found: list[int] = read.dt.as_unit("ns").astype("int64").tolist()
        if min(found) < 0:
            raise TimeError(found.index(min(found)), "a date since 1970")
        return found


#: What a file states its times in.
Unit = Numbers | Dates

SECONDS = Numbers("seconds", NANOSECONDS)
MILLISECONDS = Numbers("milliseconds", 10**6)
