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


#: Share of the time left that building a model may take: handing it to a solver takes as long.
BUILD_SHARE = 0.5


@dataclass(frozen=True)
class Job:
    """One engine run on one instance.

    ``solver`` is the engine's name, which one file may serve for several; ``formulation`` what its
    file declares, None for an engine that takes none, and ``options`` its keyword argument;
    ``relaxation`` asks for a bound only.  The ``deadline``, building included, is on
    ``time.monotonic``, and the memory limit in gigabytes.

    ``warm_start`` has the start rounds of a feasible schedule, whose TEL is ``upper_bound``;
    ``beside`` returns those of the last better one that others have found.  The model is written to
    ``model_file`` instead of being solved. ``asked`` is the engine, with its formulation, that
    ``auto`` is to set to work beside the others.
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
        """Return TEL and starts of what was found beside, where that is below a TEL (rounds)."""
        starts = self.beside()
        if starts is None or (own := tel_of(self.instance, starts)) >= tel:
            return None
        return own, starts

    def end_of_building(self) -> float:
        """Return when building a model must have ended, on the same clock."""
        return time.monotonic() + BUILD_SHARE * self.left()
