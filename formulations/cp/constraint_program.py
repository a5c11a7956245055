"""What a CP-SAT model declares of itself.

Apart from ``formulations.mip.integer_program`` on purpose: models of the two kinds share no file,
so that each can be a witness of the other's optima.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from formulations.cp._windows import StartRounds
from instances import Instance


@dataclass(frozen=True)
class ConstraintProgram:
    """A CP-SAT model.

    Attributes
    ----------
    name
        By which users ask for it.
    build
        Returns the model of an instance on start windows, with a known schedule as hint, and the
        start round of each request as an expression.
    size
        Number of entries that the model will have.
    windows
        Returns the start windows, given the TEL of a known schedule.
    options
        A dataclass of what can be switched or set, each field with its meaning as an annotation;
        ``build`` takes an object of it as ``options``.  None if there is nothing.
    source
        Paper and equations; empty for one of our own.
    """

    kind: ClassVar[Literal["cp"]] = "cp"

    name: str
    build: Callable[..., tuple[Any, list[Any]]]
    size: Callable[[Instance, StartRounds], int]
    windows: Callable[..., StartRounds]
    options: type[Any] | None = None
    source: str = ""
