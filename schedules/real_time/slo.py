"""A service-level objective as text: ``ttft:0.5,tpot:50ms,e2el:30``."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from fractions import Fraction

from instances.batch_time import NANOSECONDS
from support.text import printable

_FORM = "ttft:SECONDS,tpot:SECONDS,e2el:SECONDS, one of them at least (500ms is 0.5)"
_PART = re.compile(
    r"\s*(?P<name>[a-z0-9]+)\s*:\s*(?P<number>[0-9]{1,12}(?:\.[0-9]{0,12})?)\s*(?P<unit>ms|s|)\s*",
    re.IGNORECASE | re.ASCII,
)


class SloError(ValueError):
    """A text is no service-level objective; the message is one line."""


@dataclass(frozen=True)
class Slo:
    """What a request must keep to be a good one: nanoseconds at most, None for no limit.

    Attributes
    ----------
    ttft
        From its arrival to its first token.
    tpot
        Per output token after the first.
    e2el
        From its arrival to its last token.
    """

    ttft: int | None = None
    tpot: int | None = None
    e2el: int | None = None

    def __str__(self) -> str:
        given = ((each.name, getattr(self, each.name)) for each in fields(self))
        return ",".join(
            f"{name}:{float(Fraction(limit, NANOSECONDS)):.10g}"
            for name, limit in given
            if limit is not None
        )


def read_slo(text: str) -> Slo:
    """Read an objective; numbers are seconds, or milliseconds where ``ms`` stands behind them.

    Raises
    ------
    SloError
        If a name is unknown or stands twice, or a limit is no number above 0.
    """
    limits: dict[str, int] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part)
        name = match["name"].lower() if match else ""
        if match is None or name not in {each.name for each in fields(Slo)}:
            raise SloError(f"expected {_FORM}, found {printable(text, 80)!r}")
        if name in limits:
            raise SloError(f"expected each limit once, found {name} twice")
        unit = NANOSECONDS // 1000 if match["unit"].lower() == "ms" else NANOSECONDS
        limits[name] = round(Fraction(match["number"]) * unit)
        if limits[name] < 1:
            raise SloError(f"expected a limit of a nanosecond at least, found {part.strip()!r}")
    return Slo(**limits)
