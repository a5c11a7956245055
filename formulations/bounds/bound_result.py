"""The result of every ``compute_bound``, and the receiver of improvements on the way."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.price_bound import PriceBound
from formulations.lagrangian.state_prices import StatePrices


class Reporter(Protocol):
    """Receives certified bounds (rounds) and the size of the master LP."""

    def bound(self, value: int, source: str) -> None:
        """Take a certified bound (rounds)."""

    def built(self, columns: int, rows: int, entries: int) -> None:
        """Take the size of the master LP."""


class SilentReporter:
    """Forgets all that it receives."""

    def bound(self, value: int, source: str) -> None:
        """Forget it."""

    def built(self, columns: int, rows: int, entries: int) -> None:
        """Forget it."""


@dataclass(frozen=True)
class BoundResult:
    """The best certified bound on the TEL (rounds), and its certificate.

    ``prices`` are multipliers on tokens, ``table`` on states; ``rates`` is the certificate of a
    bound in seconds (``serving.bounds.seconds_certificate``), in nanoseconds.  ``expected_starts``
    is Σ t·x of each request in the last master LP, shape (n,); ``objective`` is its value, if
    solved.
    """

    value: int
    prices: PriceBound | None
    expected_starts: NDArray[np.float64] | None
    objective: float | None
    table: StatePrices | None = None
    rates: dict[str, Any] | None = None
