"""Numbers of a trace, exactly: whole lengths, and times of its units in whole nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NoReturn

from instances.model import MAX_SECONDS, MAX_TOKENS
from instances.time_unit import NANOSECONDS

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?\s*", re.ASCII)
#: Multiplies what :func:`exact` reads, 100 characters at most, without rounding.
_EXACT = Context(prec=200)
#: Digits of an integer that is read without looking further.
_FEW = 15
#: Stands for every length that no memory holds.
TOO_LONG = MAX_TOKENS + 1
_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
#: Last year whose nanoseconds since 1970 have 64 bits whole.
_LAST_YEAR = 2261

#: Refuses a trace for the value at a position, of which it says what was expected.
Refuse = Callable[[int, str], NoReturn]


def exact(value: Any) -> int | Decimal | None:
    """Return the number that a field or a JSON value states; None if it states none."""
    if type(value) is int:
        return value
    if type(value) is float:
        # As it is written, not as it is stored.
        value = repr(value)
    if type(value) is not str or len(value) > 100:
        return None
    if len(value) <= _FEW and value.isascii() and value.isdigit():
        return int(value)
    return Decimal(value.strip()) if _NUMBER.fullmatch(value) else None


def whole(value: Any) -> int | None:
    """Return a length of a CSV field or JSON value; None if it is no whole number.

    What no memory holds becomes ``TOO_LONG``, what is negative -1 at most.
    """
    number = exact(value)
    if number is None:
        return None
    if number < 0:
        return -1
    if number > MAX_TOKENS:
        return TOO_LONG
    return int(number) if number == int(number) else None


def nanoseconds(value: Any, unit: int) -> int | None:
    """Return a time in nanoseconds, of which its ``unit`` has so many; None if it is no number.

    It is rounded, ties to even.  An OverflowError says that it is negative, or too late.
    """
    number = exact(value)
    if number is None:
        return None
    if not 0 <= number <= MAX_SECONDS * NANOSECONDS // unit:
        raise OverflowError
    if isinstance(number, int):
        return number * unit
    return int(_EXACT.multiply(number, unit).to_integral_value(ROUND_HALF_EVEN))


@dataclass(frozen=True)
class Numbers:
    """Numbers of some unit, 0 or more, rounded to whole nanoseconds.

    ``fractions`` is what a fraction of the unit says of the file, where the format has none.
    """

    name: str
    nanoseconds: int
    fractions: str = ""

    def read(self, values: Sequence[Any], refuse: Refuse) -> Sequence[int]:
        """Return nanoseconds, or refuse the first value that is no time of the unit."""
        found: list[int] = []
        for value in values:
            try:
                time = nanoseconds(value, self.nanoseconds)
            except OverflowError:
                largest = MAX_SECONDS * NANOSECONDS // self.nanoseconds
                refuse(len(found), f"{self.name} from 0 to {largest:,}")
            if time is None:
                refuse(len(found), f"a number of {self.name}")
            if self.fractions and time % self.nanoseconds:
                refuse(len(found), f"whole {self.name} ({self.fractions})")
            found.append(time)
        return found


@dataclass(frozen=True)
class Dates:
    """Dates with times of day; without an offset they count as UTC."""

    name: str = "dates and times"

    def read(self, values: Sequence[Any], refuse: Refuse) -> Sequence[int]:
        """Return nanoseconds since 1970, or refuse the first value that is no such date."""
        import pandas as pd  # only where there are dates: it takes half a second

        column = pd.Series(values, dtype=str)
        dates = column.str.fullmatch(_DATE, flags=re.ASCII)
        if dates.all():
            years = column.str[:4].astype(int)
            if not (right := years.between(1970, _LAST_YEAR)).all():
                refuse(int(right.to_numpy().argmin()), f"a date from 1970 to {_LAST_YEAR}")
            read = pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce")
            dates = read.notna()
        if not dates.all():
            refuse(int(dates.to_numpy().argmin()), "a date and a time as in 2023-11-16 10:00:00.25")
        found: list[int] = read.dt.as_unit("ns").astype("int64").tolist()
        if min(found) < 0:
            refuse(found.index(min(found)), "a date since 1970")
        return found


#: What a file states its times in.
Unit = Numbers | Dates

SECONDS = Numbers("seconds", NANOSECONDS)
MILLISECONDS = Numbers("milliseconds", 10**6)
