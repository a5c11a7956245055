"""What every family does at its beginning and its end: guards, and numbering the requests."""

from __future__ import annotations

from collections.abc import Iterable

from instances.model import Request


def at_least(least: int, **parameters: int | None) -> None:
    """Refuse parameters below a least value; ``None`` stands for one that was not given.

    Raises
    ------
    ValueError
        One line: the parameter, what was expected and what was found.
    """
    for name, value in parameters.items():
        if value is not None and value < least:
            raise ValueError(f"{name}: expected at least {least}, found {value}")


def share(**parameters: float) -> None:
    """Refuse parameters outside [0, 1].

    Raises
    ------
    ValueError
        One line: the parameter, what was expected and what was found.
    """
    for name, value in parameters.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: expected 0 to 1, found {value}")


def positive(**parameters: float | None) -> None:
    """Refuse parameters that are not above 0 and finite; ``None`` was not given.

    Raises
    ------
    ValueError
        One line: the parameter, what was expected and what was found.
    """
    for name, value in parameters.items():
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"{name}: expected a number above 0, found {value}")


def longest_fits(longest: int, memory: int) -> None:
    """Refuse a memory that cannot hold the longest prompt together with the longest output.

    Raises
    ------
    ValueError
        One line: what was expected and what was found.
    """
    if 2 * longest > memory:
        raise ValueError(f"memory: expected at least 2 * longest = {2 * longest}, found {memory}")


def numbered(
    rows: Iterable[tuple[int, int, int]], prediction: tuple[int, int] | None = None
) -> tuple[Request, ...]:
    """Return requests with ids 0, 1, ... from rows (arrival, prompt, output).

    Parameters
    ----------
    rows : iterable of (int, int, int)
        Arrival (rounds), prompt and output (tokens) of each request.
    prediction : (int, int), optional
        Lower and upper end of the prediction interval that all requests share (tokens).
    """
    lower, upper = prediction or (None, None)
    return tuple(
        Request(i, arrival, prompt, output, lower, upper)
        for i, (arrival, prompt, output) in enumerate(rows)
    )
