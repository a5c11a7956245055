"""The declaration of a bound that needs no model of the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from formulations.bounds.bound_result import BoundResult
    from formulations.valid.windows import Windows
    from instances import Instance


@dataclass(frozen=True)
class ComputedBound:
    """A lower bound on the TEL, certified in integers; users type its ``name``.

    ``compute`` returns the best bound by a deadline and reports every improvement.  ``size`` is the
    number of matrix entries, None where nothing grows with the instance.  ``compute`` takes an
    object of the dataclass ``options``, whose fields have their meaning as an annotation.
    ``source`` is paper and equations, empty if ours; ``time_unit`` is the arrivals' unit.
    """

    kind: ClassVar[Literal["bound"]] = "bound"

    name: str
    compute: Callable[..., BoundResult]
    size: Callable[[Instance, Windows], int] | None = None
    options: type[Any] | None = None
    source: str = ""
    time_unit: Literal["round", "second"] = "round"
