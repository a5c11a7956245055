"""Intervals as text: one number only where the optimum is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd


def interval_text(low: pd.Series, high: pd.Series, known: pd.Series) -> pd.Series:
    """Return ``1.234`` where OPT is known, else ``[1.100, 1.300]``, with ? for an unknown end."""
    return _each(ratios, low, high, known.astype(bool))


def share_text(low: pd.Series, high: pd.Series) -> pd.Series:
    """Return ``1.2 %`` where both ends are written alike, else ``[1.2, 3.4] %``, ? as above."""
    return _each(shares, low, high)


def shares(low: float, high: float) -> str:
    """Return one interval of :func:`share_text`; empty if neither end is known."""
    if pd.isna(low) and pd.isna(high):
        return ""
    ends = [_end(100 * low, 1), _high(low, high)]
    return f"{ends[0]} %" if ends[0] == ends[1] else f"[{ends[0]}, {ends[1]}] %"


def at_most(low: float, high: float) -> str:
    """Return the upper end of such an interval, empty if it is not known."""
    return "" if pd.isna(high) else f"{_high(low, high)} %"


def _high(low: float, high: float) -> str:
    # Rounded up, as what is left to gain, unless it is no bound but the value itself.
    if pd.isna(high) or (pd.notna(low) and low == high):
        return _end(100 * high, 1)
    return _end(math.ceil(1000 * high - 1e-9) / 10, 1)


def _each(write: Callable[..., str], *columns: pd.Series) -> pd.Series:
    texts = [write(*values) for values in zip(*columns, strict=True)]
    return pd.Series(texts, index=columns[0].index, dtype=object)


def ratios(low: float, high: float, known: bool) -> str:
    """Return one interval of :func:`interval_text`; empty if neither end is known."""
    if pd.isna(low) and pd.isna(high):
        return ""
    if known:
        return f"{low:.3f}"
    return f"[{_end(low, 3)}, {_end(high, 3)}]"


def _end(value: float, digits: int) -> str:
    # A rounded zero has no sign.
    return "?" if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"
