"""Options that the commands which draw schedules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.command import option
from support.usage import read_integer

#: Pictures of schedules on a page of the library; one takes about half a second.
MOST_PICTURES = 40


def count_option(name: str, default: int, meaning: str) -> Callable[[Any], Any]:
    """Return an option that takes how many of something a page has at most, 0 to 10⁶."""
    return option(
        name,
        "N",
        f"{meaning} (default: {default})",
        lambda text: read_integer(text, 0, 10**6),
        default,
    )
