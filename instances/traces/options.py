"""What a user asks of a trace: the memory, which rows, and which arrivals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from instances.batch_time import NANOSECONDS
from instances.families.build import LAST_SEED
from instances.model import MAX_SECONDS, MAX_TOKENS
from support.text import unknown_name
from support.usage import UsageError

#: What is told of a seed where no arrivals are drawn.
SEED_ALONE = "arrival_seed: goes with a rate, found none"


class TraceOptionError(UsageError, ValueError):
    """Options that no trace can be read with; the message is one line."""


class TraceKeywords(TypedDict, total=False):
    """The options as keywords; see :class:`TraceOptions`."""

    memory: int | None
    limit: int | None
    window: tuple[float, float] | None
    rate: float | None
    format: str | None
    tokenizer: str | None
    round_seconds: float | None
    arrival_seed: int
    run: int | None


@dataclass(frozen=True)
class TraceOptions:
    """How a trace becomes an instance.

    Attributes
    ----------
    memory
        M, tokens; a trace does not state it, so it is needed.
    limit
        Most requests that are kept, the first ones; the rest of the file is not read.
    window
        Seconds (from, to) since the first row that is a request, whether or not the memory holds
        it: rows that arrive at or after the first and before the second are kept, and times count
        from the first.
    rate
        λ, requests a second, of Poisson arrivals in the order of the trace, in place of its own.
    format
        The name of a reader; by default the file's beginning tells it.
    tokenizer
        For text: the path of a ``tokenizer.json``, or a name of the Hugging Face hub; by default
        whitespace words are counted.
    round_seconds
        Seconds of a round; a request is visible to the first round that begins at or after its
        arrival.  By default arrivals stay in seconds.
    arrival_seed
        Seed of the Poisson arrivals, 0 or more.
    run
        Which recording of a file that holds several, from 1.

    Raises
    ------
    TraceOptionError
        If a number is out of range, or there is a seed of arrivals that no rate draws.
    """

    memory: int | None = None
    limit: int | None = None
    window: tuple[float, float] | None = None
    rate: float | None = None
    format: str | None = None
    tokenizer: str | None = None
    round_seconds: float | None = None
    arrival_seed: int = 0
    run: int | None = None

    def __post_init__(self) -> None:
        _integer("memory", self.memory, 1, MAX_TOKENS)
        _integer("limit", self.limit, 1, 10**9)
        _integer("run", self.run, 1, 10**9)
        _integer("arrival_seed", self.arrival_seed, 0, LAST_SEED)
        _number("rate", self.rate, 1e-9, 1e9)
        _number("round_seconds", self.round_seconds, 1e-9, MAX_SECONDS)
        if self.arrival_seed and self.rate is None:
            raise TraceOptionError(SEED_ALONE)
        if self.window is not None:
            if not isinstance(self.window, tuple | list) or len(self.window) != 2:
                raise TraceOptionError(f"window: expected two times, found {self.window!r}")
            first, end = self.window
            _number("window", first, 0, MAX_SECONDS)
            _number("window", end, 0, MAX_SECONDS)
            if not first < end:
                raise TraceOptionError(
                    f"window: expected a start before its end, found {first} and {end}"
                )
            object.__setattr__(self, "window", (first, end))
        for name in ("format", "tokenizer"):
            if not isinstance(value := getattr(self, name), str | None):
                raise TraceOptionError(f"{name}: expected a name, found {value!r}")

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }

    def __str__(self) -> str:
        """Return the given options but the memory, as in ``limit=100, rate=2.5``."""
        return ", ".join(
            f"{name}={_shown(value)}" for name, value in self.given.items() if name != "memory"
        )

    @staticmethod
    def of(values: Mapping[str, Any]) -> TraceOptions:
        """Return options by their names, as a file states them.

        Raises
        ------
        TraceOptionError
            If there is no option of a name, or a number is out of range.
        """
        known = [each.name for each in fields(TraceOptions)]
        for name in values:
            if name not in known:
                raise TraceOptionError(unknown_name("option of a trace", name, known))
        return TraceOptions(**values)


def in_nanoseconds(seconds: float) -> int:
    """Return a time in whole nanoseconds (ties to even)."""
    return round(seconds * NANOSECONDS)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:g}..{value[1]:g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _integer(name: str, value: object, least: int, largest: int) -> None:
    if value is None:
        return
    right = isinstance(value, int) and not isinstance(value, bool) and least <= value <= largest
    if not right:
        raise TraceOptionError(
            f"{name}: expected an integer from {least} to {largest}, found {value!r}"
        )


def _number(name: str, value: object, least: float, largest: float) -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN is in no range.
    if not number or not least <= value <= largest or math.isinf(value):  # type: ignore[operator, arg-type]
        raise TraceOptionError(
            f"{name}: expected a number from {least:g} to {largest:g}, found {value!r}"
        )
