"""What every ``compute_bound`` returns, and whom it tells of improvements on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.prices import PriceBound
from formulations.lagrangian.states import PriceTable


class Reporter(Protocol):
    """Takes what a computation tells on the way."""

    def bound(self, value: int, source: str) -> None:
        """Take a certified bound (rounds)."""

    def built(self, columns: int, rows: int, entries: int) -> None:
        """Take the size of the master LP."""


class SilentReporter:
    """Where nobody wants to be told."""

    def bound(self, value: int, source: str) -> None:
        """Forget it."""

    def built(self, columns: int, rows: int, entries: int) -> None:
        """Forget it."""


@dataclass(frozen=True)
class Bound:
    """What the computation of a bound leaves.

    ``value`` is the best certified bound on the TEL (rounds).  ``prices`` is its certificate,
    ``table`` that of a bound from prices on states, and ``rates`` that of a bound in seconds
    (``serving.bounds.certificate``), whose value is in nanoseconds; None for other bounds.
    ``expected_starts`` is Σ t·x of each request in the last master LP, shape (n,), and
    ``objective`` that of the LP that the prices are the dual of (rounds), where it was solved.
    """

    value: int
    prices: PriceBound | None
    expected_starts: NDArray[np.float64] | None
    objective: float | None
    table: PriceTable | None = None
    rates: dict[str, Any] | None = None
