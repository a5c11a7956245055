"""Checked numbers on the command line."""

from __future__ import annotations

import argparse
import math

from instances.usage import read_integer

#: Longest time limit, seconds: 30 years, which every timer and engine can count to.
MAX_SECONDS = 10**9
#: Largest memory limit, gigabytes, and largest number of threads.
MAX_GIGABYTES = 10**6
MAX_THREADS = 1024
#: Seeds are below this: what every engine takes.
SEED_END = 2**31


def read_seconds(text: str) -> float:
    """Read a time above 0, up to 30 years (seconds)."""
    return _positive(text, MAX_SECONDS)


def read_gigabytes(text: str) -> float:
    """Read an amount of memory above 0 (gigabytes)."""
    return _positive(text, MAX_GIGABYTES)


def _positive(text: str, largest: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= largest:
        raise argparse.ArgumentTypeError(
            f"expected a number above 0, at most {largest}, found {text!r}"
        )
    return value


def read_count(text: str) -> int:
    """Read an integer from 1 to 1024."""
    return read_integer(text, 1, MAX_THREADS)


def read_seed(text: str) -> int:
    """Read a seed, 0 to 2**31 - 1."""
    return read_integer(text, 0, SEED_END - 1)
