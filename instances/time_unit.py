"""The unit of an instance's times, as data: a round is a second under the unit batch time."""

from dataclasses import dataclass

#: Nanoseconds of a second: arrivals, begins and total latency in real time are integers of these.
NANOSECONDS = 10**9


@dataclass(frozen=True)
class TimeUnit:
    """A unit of time: so many integer ``ticks`` to one unit, and its digits in text.

    ``symbol`` and ``tick`` stand behind a number of units and of ticks.
    """

    name: str
    ticks: int
    digits: int
    symbol: str
    tick: str

    def number(self, ticks: int, separator: str = "") -> str:
        """Return a time as a number of units."""
        if self.ticks == 1:
            return f"{ticks:{separator}}"  # no float holds all
        return f"{ticks / self.ticks:{separator}.{self.digits}f}"

    def text(self, ticks: int) -> str:
        """Return a time with its unit: ``9``, or ``0.250 s``."""
        return self.number(ticks) + self.symbol

    def mean(self, ticks: int, count: int) -> str:
        """Return the mean of ``count`` times, given their sum, to a thousandth."""
        return f"{ticks / count / self.ticks:.3f}{self.symbol}"


ROUNDS = TimeUnit("rounds", 1, 0, "", "")
SECONDS = TimeUnit("seconds", NANOSECONDS, 3, " s", " ns")


def unit_of(batch_time: str) -> TimeUnit:
    """Return the unit of what ran under a batch time; without one, it ran in rounds."""
    return SECONDS if batch_time else ROUNDS
