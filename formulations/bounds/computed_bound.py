"""What a bound without a model of the whole declares of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from formulations.bounds.outcome import Bound
    from formulations.valid.windows import Windows
    from instances import Instance


@dataclass(frozen=True)
class ComputedBound:
    """A lower bound on the TEL, certified in integers.

    Attributes
    ----------
    name
        By which users ask for it.
    compute
        Returns the best bound by a deadline and reports every improvement.
    size
        Number of matrix entries that need as much memory; None where nothing grows with the
        instance but the instance.
    options
        A dataclass of what can be switched or set, each field with its meaning as an annotation;
        ``compute`` takes an object of it as ``options``.  None if there is nothing.
    source
        Paper and equations; empty for one of our own.
    time_unit
        What the arrivals of its instances are in: rounds, or seconds.
    """

    kind: ClassVar[Literal["bound"]] = "bound"

    name: str
    compute: Callable[..., Bound]
    size: Callable[[Instance, Windows], int] | None = None
    options: type[Any] | None = None
    source: str = ""
    time_unit: Literal["round", "second"] = "round"
