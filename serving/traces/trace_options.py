"""Options of a trace: the memory, the rows, and the arrivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, TypedDict

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from instances.batch_time import NANOSECONDS
from instances.families.shared import LAST_SEED
from instances.instance import MAX_SECONDS, MAX_TOKENS
from support.json_files import describe_first_fault
from support.usage_errors import UsageError

_Many = Annotated[int, Field(ge=1, le=10**9)]
_Moment = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
#: Refusal of a seed without drawn arrivals.
SEED_ALONE = "arrival_seed: goes with a rate, found none"


class TraceOptionError(UsageError, ValueError):
    """Wrong options of a trace; the message is one line."""


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
    """Options that make an instance of a trace (docs/traces.md); :meth:`of` reads them.

    Times of ``window`` count from the first row that is a request, also one over the memory.  By
    default ``memory`` is the recorded engine's; ``run`` counts from 1.
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
        defaults = {each.name: each.default for each in fields(self)}
        return {name: vars(self)[name] for name in defaults if vars(self)[name] != defaults[name]}

    @property
    def shown(self) -> dict[str, str]:
        """The given options but the memory, as text."""
        texts = {}
        for name, value in self.given.items():
            if isinstance(value, tuple):
                texts[name] = f"{value[0]:g}..{value[1]:g}"
            elif name != "memory":
                texts[name] = f"{value:g}" if isinstance(value, float) else str(value)
        return texts

    def __str__(self) -> str:
        """Return the given options but the memory, as in ``limit=100, rate=2.5``."""
        return ", ".join(f"{name}={value}" for name, value in self.shown.items())

    @staticmethod
    def of(values: Mapping[str, Any]) -> TraceOptions:
        """Return options by their names, or raise :class:`TraceOptionError`."""
        try:
            return TraceOptions(**values)
        except ValidationError as error:
            raise TraceOptionError(describe_first_fault(error)) from None


def in_nanoseconds(seconds: float) -> int:
    """Return a time in whole nanoseconds (ties to even)."""
    return round(seconds * NANOSECONDS)
