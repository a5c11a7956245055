"""How long a round takes: the clock is a parameter of the simulator, no policy knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Batch:
    """What one round processes.

    Attributes
    ----------
    prefills
        Tokens of each prompt that is prefilled in this round.
    decoding
        Number of requests that make a token after their first.
    tokens_held
        KV tokens held at the end of the round by all requests of the batch.
    """

    prefills: tuple[int, ...]
    decoding: int
    tokens_held: int


class Clock(Protocol):
    """Tells how long a round takes."""

    def seconds(self, batch: Batch) -> float:
        """Return the duration of a round that processes a batch, in the clock's unit."""


@dataclass(frozen=True)
class UnitClock:
    """Every round takes one unit, the model of all four papers; arrivals are rounds."""

    def seconds(self, batch: Batch) -> float:
        """Return 1."""
        del batch
        return 1.0


@dataclass(frozen=True)
class AffineClock:
    """A round takes ``base`` seconds and ``per_token`` seconds for each token it processes.

    Tokens processed are the prefilled ones and one for each decoding request.
    """

    base: float
    per_token: float

    def seconds(self, batch: Batch) -> float:
        """Return base + per_token · (prefilled tokens + decoding requests)."""
        return self.base + self.per_token * (sum(batch.prefills) + batch.decoding)


UNIT = UnitClock()
