"""Intervals as text: one number where the optimum is known, else both ends."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd


def write_column(write: Callable[..., str], *columns: pd.Series) -> pd.Series:
    """Return the intervals of two columns of ends as texts, by one of the functions below."""
    texts = [write(*values) for values in zip(*columns, strict=True)]
    return pd.Series(texts, index=columns[0].index, dtype=object)


def write_ratio(low: float, high: float, known: bool) -> str:
    """Return ``1.234`` where OPT is known, else ``[1.100, ?]``; empty without any end."""
    if pd.isna(low) and pd.isna(high):
        return ""
    return f"{low:.3f}" if known else f"[{_end(low, 3)}, {_end(high, 3)}]"


def write_share(low: float, high: float) -> str:
    """Return ``1.2 %`` where both ends are written alike, else ``[1.2, ?] %``; empty as above."""
    if pd.isna(low) and pd.isna(high):
        return ""
    least, most = _end(100 * low, 1), _most(low, high)
    return f"{least} %" if least == most else f"[{least}, {most}] %"


def write_most(low: float, high: float) -> str:
    """Return the upper end of a share, empty if it is unknown."""
    return "" if pd.isna(high) else f"{_most(low, high)} %"


def _most(low: float, high: float) -> str:
    # A bound is rounded up; a value that is known is not.
    if pd.isna(high) or (pd.notna(low) and low == high):
        return _end(100 * high, 1)
    return _end(math.ceil(1000 * high - 1e-9) / 10, 1)


def _end(value: float, digits: int) -> str:
    # A rounded zero has no sign.
    return "?" if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"
