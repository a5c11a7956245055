"""Figures as spans, and the rule that judges a finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtri, stdtrit

FindingVerdict = Literal["reproduced", "not reproduced", "undecided", "not run"]

#: Probability that a span of repeats holds the figure.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Span:
    """A figure within [low, high], with an estimate ``value`` or None.

    Certified bounds, confidence intervals and tolerances are spans.
    """

    low: float
    high: float
    value: float | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"expected low <= high, found [{self.low}, {self.high}]")

    def scaled(self, by: float) -> Span:
        """Return the span with the same middle and ``by`` times the width."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return Span(middle - by * half, middle + by * half)


def judge(figure: Span | None, holds: Span) -> FindingVerdict:
    """Return the verdict: reproduced if the whole figure is within ``holds``.

    A figure apart from ``holds`` is not reproduced, any other is undecided, None is not run.
    """
    if figure is None:
        return "not run"
    if holds.low <= figure.low and figure.high <= holds.high:
        return "reproduced"
    if figure.high < holds.low or figure.low > holds.high:
        return "not reproduced"
    return "undecided"


def exactly(value: float) -> Span:
    """Return the span of a known figure, such as a count."""
    return Span(value, value, value)


def near(value: float, share: float) -> Span:
    """Return the span within a share of a positive value; 0.05 is five percent."""
    return Span(value * (1 - share), value * (1 + share))


def at_least(value: float) -> Span:
    """Return all values from ``value`` on."""
    return Span(value, math.inf)


def at_most(value: float) -> Span:
    """Return all values up to ``value``."""
    return Span(-math.inf, value)


def mean_of(values: Iterable[float]) -> Span | None:
    """Return the mean of independent repeats with its confidence (Student's t), None under two."""
    known = _known(values)
    if len(known) < 2:
        return None
    mean = float(known.mean())
    error = float(known.std(ddof=1)) / math.sqrt(len(known))
    width = float(stdtrit(len(known) - 1, (1 + CONFIDENCE) / 2)) * error
    return Span(mean - width, mean + width, mean)


def deviation_of(values: Iterable[float]) -> Span | None:
    """Return the standard deviation of normal repeats, two at least, with its confidence."""
    known = _known(values)
    if len(known) < 2:
        return None
    deviation, free = float(known.std(ddof=1)), len(known) - 1
    ends = chdtri(free, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    low, high = (deviation * math.sqrt(free / float(end)) for end in ends)
    return Span(low, high, deviation)


def ratio_of(above: Sequence[float], below: Sequence[float]) -> Span | None:
    """Return the mean quotient of pairs, such as two methods on the same instances."""
    pairs = zip(above, below, strict=True)
    return mean_of(first / second for first, second in pairs)


def slope_of(x: Iterable[float], y: Iterable[float]) -> Span | None:
    """Return the least-squares slope of three points or more with its confidence, else None."""
    across, up = np.array([float(each) for each in x]), np.array([float(each) for each in y])
    if len(across) < 3 or not np.ptp(across):
        return None
    slope, level = np.polyfit(across, up, 1)
    free = len(across) - 2
    left = float(((up - level - slope * across) ** 2).sum()) / free
    error = math.sqrt(left / float(((across - across.mean()) ** 2).sum()))
    width = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * error
    return Span(float(slope) - width, float(slope) + width, float(slope))


def quotient(above: Span | None, below: Span | None) -> Span | None:
    """Return the span of the quotient of two nonnegative figures.

    It has no upper end if ``below`` may be 0; None if ``below`` is 0.
    """
    if above is None or below is None or below.high <= 0:
        return None
    low = max(above.low, 0) / below.high
    high = max(above.high, 0) / below.low if below.low > 0 else math.inf
    value = None
    if above.value is not None and below.value is not None and below.value > 0:
        value = above.value / below.value
    return Span(low, high, value)


def _known(values: Iterable[float]) -> np.ndarray:
    return np.array([number for value in values if not math.isnan(number := float(value))])


def span_text(span: Span | None, digits: int, unit: str = "") -> str:
    """Return a span as text, as in ``31.2 s (30.7 to 31.8)``."""
    if span is None:
        return "too few rows"
    after = f" {unit}" if unit else ""
    low, high = _number(span.low, digits), _number(span.high, digits)
    if span.value is None:
        return _range_text(span, low, high, after)
    value = f"{_number(span.value, digits)}{after}"
    return value if span.low == span.high else f"{value} ({low} to {high})"


def _number(value: float, digits: int) -> str:
    return "∞" if math.isinf(value) else f"{value:,.{digits}f}"


def _range_text(span: Span, low: str, high: str, after: str) -> str:
    if math.isinf(span.low):
        return f"at most {high}{after}"
    if math.isinf(span.high):
        return f"at least {low}{after}"
    return f"{low}{after}" if span.low == span.high else f"{low} to {high}{after}"
