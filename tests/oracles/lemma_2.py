"""The ratio of A_min to H-SF that chen2025 Lemma 2 states, by its sums."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def lemma_2(shares: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the ratio for s = 0 and ℓ = 1 from the shares of the outputs 1..u, O(u²)."""
    x = np.asarray(shares, dtype=float)
    i = np.arange(1, len(x) + 1)
    above = below = 0.0
    for k in range(1, len(x) + 1):
        far, rest = i[k - 1 :], x[k - 1 :]
        above += (far @ rest) * ((rest / far).sum() + 2 * ((far - k) / far * rest).sum())
        below += k * k * x[k - 1] * (x[k - 1] + 2 * rest[1:].sum())
    return above / below
