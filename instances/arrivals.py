"""When requests arrive: gaps that are drawn, and times as an instance states them.

Times are whole nanoseconds in between, so that seconds and rounds are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from instances.families.draws import Draws

#: Nanoseconds of a second.
SECOND = 10**9


def drawn_times(draws: Draws, n: int, rate: float, cv: float = 1.0) -> list[int]:
    """Return n ascending times, the first 0 (nanoseconds).

    The gaps are independent, gamma distributed with mean 1 / rate: exponential for ``cv`` = 1,
    which is a Poisson process, and in bursts for a larger one.

    Parameters
    ----------
    draws
        Where the n − 1 gaps come from.
    rate
        Mean arrivals a second.
    cv
        Coefficient of variation of the gaps, their deviation over their mean.

    Raises
    ------
    ValueError
        If the last time is beyond 2⁶² nanoseconds, 146 years.
    """
    shape = 1 / cv**2
    if cv == 1:
        gaps = [draws.exponential(1 / rate) for _ in range(n - 1)]
    else:
        gaps = [draws.gamma(shape, 1 / (rate * shape)) for _ in range(n - 1)]
    times = [0, *accumulate(gaps)][:n]
    if times[-1] * SECOND > 2**62:
        raise ValueError(f"rate: expected arrivals within 146 years, found {rate} a second")
    return [round(time * SECOND) for time in times]


def as_seconds(times: Sequence[int]) -> list[int | float]:
    """Return times in seconds: whole ones as integers, others as the nearest double.

    Multiplied by 10⁹ and rounded it is the same nanosecond again, up to 104 days (2⁵³ nanoseconds).
    """
    return [time // SECOND if time % SECOND == 0 else time / SECOND for time in times]


def as_rounds(times: Sequence[int], length: int = SECOND) -> list[int]:
    """Return the first round that begins at or after each time.

    Parameters
    ----------
    times
        Nanoseconds from the beginning of round 0.
    length
        Nanoseconds of a round.
    """
    return [-(-time // length) for time in times]
