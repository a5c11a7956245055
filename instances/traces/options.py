"""What a user asks of a trace: the memory, which rows, and which arrivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, TypedDict

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from instances.batch_time import NANOSECONDS
from instances.families.build import LAST_SEED
from instances.model import MAX_SECONDS, MAX_TOKENS
from support.jsonfile import first_fault
from support.usage import UsageError

_Many = Annotated[int, Field(ge=1, le=10**9)]
_Moment = Annotated[float, Field(ge=0, le=MAX_SECONDS)]


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


@dataclass(frozen=True, config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class TraceOptions:
    """How a trace becomes an instance; :meth:`of` makes them of what a user states.

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
    """

    memory: Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None = None
    limit: _Many | None = None
    window: Annotated[tuple[_Moment, _Moment], Field(strict=False)] | None = None
    rate: Annotated[float, Field(ge=1e-9, le=1e9)] | None = None
    format: str | None = None
    tokenizer: str | None = None
    round_seconds: Annotated[float, Field(ge=1e-9, le=MAX_SECONDS)] | None = None
    arrival_seed: Annotated[int, Field(ge=0, le=LAST_SEED)] = 0
    run: _Many | None = None

    @model_validator(mode="after")
    def _refuse_unfit(self) -> TraceOptions:
        if self.arrival_seed and self.rate is None:
            raise ValueError(SEED_ALONE)
        if self.window is not None and not self.window[0] < self.window[1]:
            found = "{:g} and {:g}".format(*self.window)
            raise ValueError(f"window: expected a start before its end, found {found}")
        return self

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        read = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in read.items() if value != default}

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
        try:
            return TraceOptions(**values)
        except ValidationError as error:
            raise TraceOptionError(first_fault(error)) from None


def in_nanoseconds(seconds: float) -> int:
    """Return a time in whole nanoseconds (ties to even)."""
    return round(seconds * NANOSECONDS)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:g}..{value[1]:g}"
    return f"{value:g}" if isinstance(value, float) else str(value)
