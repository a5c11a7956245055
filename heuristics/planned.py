"""Look-ahead admission in an order that is planned anew when requests arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from heuristics.believed import LookAheadRules
from heuristics.policy import Ints


class PlannedRules(LookAheadRules):
    """Rules with a plan of what waits: it yields places in the positions given, piece by piece."""

    def __init__(self, beliefs: list[int], plan: Callable[[Ints], Iterator[Ints]]) -> None:
        super().__init__(beliefs)
        self._plan_of = plan
        self._waits = np.zeros(len(beliefs), dtype=np.bool_)
        self._stale = False
        #: Begin of the plan, the next request last, and what yields the rest.
        self._line: list[int] = []
        self._rest: Iterator[Ints] = iter(())

    def arrive(self, request: int) -> None:
        self._waits[request] = self._stale = True

    def head(self) -> int | None:
        if self._stale:
            self.plan()
        if not self._line:
            for piece in self._rest:
                self.enter(piece.tolist())
                break
        return self._line[-1] if self._line else None

    def take(self, request: int, now: int) -> None:
        del now
        self._waits[request] = False
        self._line.pop()

    def plan(self) -> None:
        """Plan anew."""
        waiting = np.flatnonzero(self._waits)
        self._rest = (waiting[piece] for piece in self._plan_of(waiting))
        self._line = []
        self._stale = False

    def enter(self, piece: list[int]) -> None:
        """Take the next piece of the plan."""
        self._line = piece[::-1]
