"""A service-level objective as text: ``ttft:500ms,tpot:50ms,e2el:30s``."""

import re
from dataclasses import dataclass, fields
from fractions import Fraction

from instances.batch_time import NANOSECONDS, decimal
from support.message_text import printable

_FORM = "ttft:TIME,tpot:TIME,e2el:TIME, one of them at least, TIME as in 500ms or 0.5s"
_PART = re.compile(
    r"\s*(?P<name>[a-z0-9]+)\s*:\s*(?P<number>[0-9]{1,12}(?:\.[0-9]{0,12})?)\s*(?P<unit>ms|s|)\s*",
    re.IGNORECASE | re.ASCII,
)
_MILLISECOND = NANOSECONDS // 1000


class SloError(ValueError):
    """A text is no service-level objective; the message is one line."""


@dataclass(frozen=True)
class Slo:
    """Objective of a good request: nanoseconds at most of TTFT, TPOT and E2EL; None: no limit."""

    ttft: int | None = None
    tpot: int | None = None
    e2el: int | None = None

    def __str__(self) -> str:
        shown = []
        for name, limit in vars(self).items():
            if limit is not None:
                time = f"{decimal(limit, 6)}ms" if limit < NANOSECONDS else f"{decimal(limit, 9)}s"
                shown.append(f"{name}:{time}")
        return ",".join(shown)


#: MLPerf Inference's server limits for Llama 2 70B, the model of the default batch time
#: (``llama2-70b.Server`` in mlcommons/inference, ``loadgen/mlperf.conf``, at commit 001712e9).
SERVER_SLO = Slo(ttft=2 * NANOSECONDS, tpot=200 * _MILLISECOND)


def read_slo(text: str) -> Slo:
    """Read an objective, or raise an :class:`SloError`; each limit has its unit, ms or s."""
    limits: dict[str, int] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part)
        name = match["name"].lower() if match else ""
        if match is None or name not in {each.name for each in fields(Slo)}:
            raise SloError(f"expected {_FORM}, found {printable(text, 80)!r}")
        if name in limits:
            raise SloError(f"expected each limit once, found {name} twice")
        number, unit = match["number"], match["unit"].lower()
        if not unit:
            # Other tools take milliseconds here.
            raise SloError(f"{name}:{number} has no unit: {name}:{number}ms or {name}:{number}s")
        limits[name] = round(Fraction(number) * (_MILLISECOND if unit == "ms" else NANOSECONDS))
        if limits[name] < 1:
            raise SloError(f"expected a limit of a nanosecond at least, found {part.strip()!r}")
    return Slo(**limits)
