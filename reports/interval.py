"""Intervals as text: one number only where the optimum is known."""

from __future__ import annotations

import pandas as pd


def interval_text(low: pd.Series, high: pd.Series, known: pd.Series) -> pd.Series:
    """Return ``1.234`` where OPT is known, else ``[1.100, 1.300]``, with ? for an unknown end."""
    return pd.Series(
        [
            _text(each_low, each_high, bool(each_known))
            for each_low, each_high, each_known in zip(low, high, known, strict=True)
        ],
        index=low.index,
        dtype=object,
    )


def _text(low: float, high: float, known: bool) -> str:
    if pd.isna(low) and pd.isna(high):
        return ""
    if known:
        return f"{low:.3f}"
    return f"[{_end(low)}, {_end(high)}]"


def _end(value: float) -> str:
    return "?" if pd.isna(value) else f"{value:.3f}"
