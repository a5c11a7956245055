"""Measured latencies of a trace's requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Measured:
    """Measured latencies, in arrays of one entry a request.

    Nanoseconds from the arrival to the first token (TTFT) and the last (E2EL); output tokens.
    """

    first_tokens: Ints
    latencies: Ints
    outputs: Ints

    def __len__(self) -> int:
        return len(self.outputs)

    def take(self, positions: Sequence[int] | Ints | slice) -> Measured:
        """Return the latencies of some of the requests."""
        return Measured(*(column[positions] for column in vars(self).values()))
