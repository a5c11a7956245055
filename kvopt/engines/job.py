"""Job of an engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from instances import Instance

if TYPE_CHECKING:
    from kvopt.methods.method import Method


def tel_of(instance: Instance, starts: Sequence[int]) -> int:
    """Return the TEL (rounds) of starts, in the instance's order."""
    return int((np.asarray(starts) + instance.outputs - instance.arrivals).sum())


#: Share of the time left for building a model; passing it to a solver takes as long.
BUILD_SHARE = 0.5


@dataclass(frozen=True)
class EngineJob:
    """One engine run on one instance.

    ``solver`` names the engine, ``formulation`` is the declaration of its file or None, ``options``
    its keyword argument.  A ``relaxation`` needs a bound only.  The ``deadline``, building
    included, is on ``time.monotonic``; the memory limit is in gigabytes.

    ``warm_start`` has the start rounds of a feasible schedule of TEL ``upper_bound``; ``beside``
    returns the starts of a better one that other processes found.  The engine ``export`` writes
    ``model_file``.  ``auto`` runs ``asked``, an engine with its formulation.
    """

    instance: Instance
    solver: str
    formulation: Any
    relaxation: bool
    deadline: float
    threads: int
    seed: int
    warm_start: list[int]
    upper_bound: int
    memory_limit: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    model_file: str = ""
    asked: Method | None = None
    beside: Callable[[], list[int] | None] = lambda: None

    def left(self) -> float:
        """Return the seconds until the deadline, negative after it."""
        return self.deadline - time.monotonic()

    def known(self, tel: int) -> tuple[int, list[int]] | None:
        """Return TEL and starts of other processes' schedule if it is below a TEL (rounds)."""
        starts = self.beside()
        if starts is None or (own := tel_of(self.instance, starts)) >= tel:
            return None
        return own, starts

    def end_of_building(self) -> float:
        """Return when building a model must have ended, on the same clock."""
        return time.monotonic() + BUILD_SHARE * self.left()
