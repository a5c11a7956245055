"""Exact numbers of a trace: whole lengths, and times in whole nanoseconds."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NoReturn

from instances.instance import MAX_SECONDS, MAX_TOKENS
from instances.time_unit import NANOSECONDS

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?\s*", re.ASCII)
#: Multiplies numbers of 100 characters without rounding.
_EXACT = Context(prec=200)
#: Stands for every length that no memory holds.
TOO_LONG = MAX_TOKENS + 1
_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
#: Last year whose nanoseconds since 1970 fit 64 bits.
_LAST_YEAR = 2261

#: Refuses a trace for the value at a position, with the expected value.
Refuse = Callable[[int, str], NoReturn]


def exact(value: Any) -> int | Decimal | None:
    """Return the number of a field or a JSON value as written; None if it states none."""
    if type(value) is int:
        return value
    if type(value) is float:
        value = repr(value)
    if type(value) is not str or len(value) > 100:
        return None
    if len(value) < 16 and value.isascii() and value.isdigit():
        return int(value)
    return Decimal(value.strip()) if _NUMBER.fullmatch(value) else None


def whole(value: Any) -> int | None:
    """Return a length, ``TOO_LONG`` beyond all memories, -1 if negative, None if not whole."""
    number = exact(value)
    if number is None:
        return None
    if number < 0:
        return -1
    if number > MAX_TOKENS:
        return TOO_LONG
    return int(number) if number == int(number) else None


def nanoseconds(value: Any, unit: int) -> int | None:
    """Return a time in nanoseconds, rounded, ties to even; None if the value is no number.

    ``unit`` is in nanoseconds.  A time that is negative or too late raises an OverflowError.
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
class NumericTimeReader:
    """Times as numbers of a unit, 0 or more; with ``larger``, the hint on a larger unit, whole."""

    name: str
    nanoseconds: int
    larger: str = ""

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
            if self.larger and time % self.nanoseconds:
                numbers = [number for each in values if (number := exact(each))]
                dense = max(numbers) - min(numbers) < 10 * len(values)
                refuse(len(found), f"whole {self.name}{self.larger * dense}")
            found.append(time)
        return found


@dataclass(frozen=True)
class DateTimeReader:
    """Dates with times of day; without an offset they count as UTC."""

    name: str = "dates and times"

    def read(self, values: Sequence[Any], refuse: Refuse) -> Sequence[int]:
        """Return nanoseconds since 1970, or refuse the first value that is no such date."""
        import pandas as pd  # takes half a second

        column = pd.Series(values, dtype=str)
        column = column.where(column.str.fullmatch(_DATE, flags=re.ASCII))
        dates = pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce")
        right = dates.dt.year.between(1970, _LAST_YEAR)
        if not right.all():
            expected = f"a date from 1970 to {_LAST_YEAR} and a time, as 2023-11-16 10:00:00.25"
            refuse(int(right.to_numpy().argmin()), expected)
        found: list[int] = dates.dt.as_unit("ns").astype("int64").tolist()
        return found


Unit = NumericTimeReader | DateTimeReader

SECONDS = NumericTimeReader("seconds", NANOSECONDS)
MILLISECONDS = NumericTimeReader("milliseconds", 10**6)
