"""Checked numbers on the command line."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """Read a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return value


def count(text: str) -> int:
    """Read an integer from 1 to 1024."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 1024):
        raise argparse.ArgumentTypeError(f"expected 1 to 1024, found {text!r}")
    return int(text)
