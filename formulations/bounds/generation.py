"""Column generation: an LP over the columns so far, then columns that its prices make cheap."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from formulations.bounds.highs import Floats
from formulations.bounds.outcome import Reporter
from instances import Instance


@dataclass(frozen=True)
class Solution:
    """Optimum of a master LP: objective (rounds), prices on its grid, weight of each column.

    Columns are starts; the last ``patterns`` ones are patterns.  ``payments`` are the prices of
    look-ahead rows on M-ths of tokens.
    """

    objective: float
    prices: Floats
    weights: Floats
    patterns: int = 0
    payments: Floats = field(default_factory=lambda: np.zeros(0))

    def split(self) -> tuple[Floats, Floats]:
        """Return the weights of starts, and of patterns."""
        starts = len(self.weights) - self.patterns
        return self.weights[:starts], self.weights[starts:]


class ColumnGeneration(ABC):
    """Prices that improve over iterations and grids.

    Nothing here has to be right for a bound to be: any prices ≥ 0 certify one.  ``solution`` is
    that of the last master, where its columns are now.
    """

    def __init__(self, instance: Instance, report: Reporter, deadline: float, threads: int) -> None:
        self.instance, self.report = instance, report
        self.deadline, self.threads = deadline, threads
        self.solution: Solution | None = None

    @property
    @abstractmethod
    def value(self) -> float:
        """The Lagrangian value of the best prices so far (rounds)."""

    @abstractmethod
    def _solve_master(self, seconds: float) -> Solution | None:
        """Solve the LP over the columns so far; None if that takes too long."""

    @abstractmethod
    def _scale(self) -> float:
        """Return what tolerances are shares of (rounds)."""

    @abstractmethod
    def _improve(self, solution: Solution, tolerance: float, iteration: int) -> bool:
        """Price out columns; tell whether to go on."""

    def _farthest(self) -> bool:
        """Tell whether the LP could choose freely; else let it choose among more prices."""
        return True

    def out_of_time(self) -> bool:
        """Tell whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def iterate(self, tolerance: float) -> bool:
        """Improve the prices on this grid until the LP promises at most this share more.

        Tells whether it came to that.
        """
        for iteration in itertools.count(1):
            if self.out_of_time():
                break
            solution = self._solve_master(self.deadline - time.monotonic())
            if solution is None:
                break
            self.solution = solution
            if self._closed(tolerance):
                if self._farthest():
                    return True
            elif not self._improve(solution, tolerance, iteration):
                return self._closed(tolerance)
        return False

    def _closed(self, tolerance: float) -> bool:
        assert self.solution is not None
        return self.solution.objective - self.value <= tolerance * self._scale()
