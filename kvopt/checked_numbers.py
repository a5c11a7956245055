"""Checked numbers on the command line, and the default time limit."""

from support.usage_errors import read_integer, read_positive

#: Default time limit of a run, seconds.
TIME_LIMIT = 60.0
#: Longest time limit, seconds: 30 years; every timer and engine counts to it.
MAX_SECONDS = 10**9
#: Largest memory limit, gigabytes, and largest number of threads.
MAX_GIGABYTES = 10**6
MAX_THREADS = 1024
#: Seeds are below this; every engine takes them.
SEED_END = 2**31


def read_seconds(text: str) -> float:
    """Read a time above 0, up to 30 years (seconds)."""
    return read_positive(text, MAX_SECONDS)


def read_gigabytes(text: str) -> float:
    """Read an amount of memory above 0 (gigabytes)."""
    return read_positive(text, MAX_GIGABYTES)


def read_count(text: str) -> int:
    """Read an integer from 1 to 1024."""
    return read_integer(text, 1, MAX_THREADS)


def read_seed(text: str) -> int:
    """Read a seed, 0 to 2**31 - 1."""
    return read_integer(text, 0, SEED_END - 1)
