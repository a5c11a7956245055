"""Numbers of a trace, exactly: whole lengths, and times in whole nanoseconds."""

from __future__ import annotations

import re
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
    """Return a time in nanoseconds, rounded (ties to even); None if it is no time.

    Parameters
    ----------
    value
        A CSV field or a JSON value.
    unit
        Nanoseconds of its unit.

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
