"""The declaration of a CP-SAT model.

Apart from ``formulations.mip.integer_program`` on purpose: models of the two kinds share no file,
so that each can be a witness of the other's optima.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from formulations.cp._windows import StartRounds
from instances import Instance


@dataclass(frozen=True)
class ConstraintProgram:
    """A CP-SAT model; users type its ``name``.

    ``build`` returns the model of an instance on start windows, with a known schedule as hint, and
    the start round of each request as an expression.  ``windows`` returns the start windows, given
    the TEL of a known schedule; ``size`` is the number of entries.  ``build`` takes an object of
    the dataclass ``options``, if any, whose fields have their meaning as an annotation.
    ``source`` is paper and equations, empty if ours.
    """

    kind: ClassVar[Literal["cp"]] = "cp"

    name: str
    build: Callable[..., tuple[Any, list[Any]]]
    size: Callable[[Instance, StartRounds], int]
    windows: Callable[..., StartRounds]
    options: type[Any] | None = None
    source: str = ""
