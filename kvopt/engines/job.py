"""What an engine is asked to do."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from instances import Instance


@dataclass(frozen=True)
class Job:
    """One engine run on one instance.

    Attributes
    ----------
    solver
        The engine's name, which one file may serve for several (Pyomo's solvers).
    module
        The formulation's module; empty for an engine that takes none.
    relaxation
        Whether a bound only is asked for.
    deadline
        By when to have ended, building included, on the clock of ``time.monotonic``.
    warm_start
        Start rounds of a feasible schedule, in the instance's order.
    upper_bound
        TEL (rounds) of that schedule.
    memory_limit
        Gigabytes of resident memory.
    options
        Options of the formulation that differ from their defaults.
    model_file
        Where the model is written to, instead of being solved.
    """

    instance: Instance
    solver: str
    module: str
    relaxation: bool
    deadline: float
    threads: int
    seed: int
    warm_start: list[int]
    upper_bound: int
    memory_limit: float | None = None
    options: dict[str, bool | int] = field(default_factory=dict)
    model_file: str = ""

    def left(self) -> float:
        """Return the seconds until the deadline, negative after it."""
        return self.deadline - time.monotonic()
