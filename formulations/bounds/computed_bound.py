"""The declaration of a bound that needs no model of the whole."""

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
    """A lower bound on the TEL, certified in integers, by the name by which users ask for it.

    ``compute`` returns the best bound by a deadline and reports every improvement.  ``size`` is the
    number of matrix entries, None where nothing grows with the instance.  ``options`` is a
    dataclass, an object of which ``compute`` takes, each field with its meaning as an annotation.
    ``source`` is paper and equations, empty for one of our own; ``time_unit`` that of the arrivals.
    """

    kind: ClassVar[Literal["bound"]] = "bound"

    name: str
    compute: Callable[..., Bound]
    size: Callable[[Instance, Windows], int] | None = None
    options: type[Any] | None = None
    source: str = ""
    time_unit: Literal["round", "second"] = "round"
