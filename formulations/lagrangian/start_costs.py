"""Priced costs of many starts at once, under prices on memory and on windows.

The formula is here for NumPy and in ``kernels`` for compiled loops.  Readers of certificates have
a second writing in ``formulations.certificates.price_evaluation``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PriceSums:
    """Prices of the times 0..L − 1 added up: entry k of a sum is over the times before k.

    ``unit`` is the cost of a round: the denominator of prices that are numerators, 1.0 for those in
    rounds.  ``tokens`` and ``moments`` sum λ_t and t·λ_t, shape (L + 1,); ``windows`` sums μ_gt,
    shape (groups, L + 1).
    """

    unit: float
    tokens: NDArray[Any]
    moments: NDArray[Any]
    windows: NDArray[Any]

    @property
    def length(self) -> int:
        """L, the number of priced times."""
        return len(self.tokens) - 1

    def of_runs(self, prompt: int, output: int, starts: Ints) -> NDArray[Any]:
        """Return ``unit`` times the start round plus the run's payments for tokens, (starts,)."""
        low = np.minimum(starts + 1, self.length)
        high = np.minimum(starts + output + 1, self.length)
        # A token at time t costs λ_t, and the run holds prompt + t − start tokens then.
        costs: NDArray[Any] = (
            self.unit * starts
            + (prompt - starts) * (self.tokens[high] - self.tokens[low])
            + (self.moments[high] - self.moments[low])
        )
        return costs

    def of_windows(self, g: int, before: int, after: int, starts: Ints) -> NDArray[Any]:
        """Return the payments of windows of group ``g``, (starts,)."""
        opens = np.clip(starts - before, 0, self.length)
        closes = np.clip(starts + after, opens, self.length)
        paid: NDArray[Any] = self.windows[g, closes] - self.windows[g, opens]
        return paid


def price_sums(memory: NDArray[Any], unit: float, groups: NDArray[Any] | None = None) -> PriceSums:
    """Return the sums of λ, shape (L,), and of μ, shape (groups, L), in the prices' type."""
    groups = np.zeros((0, len(memory)), dtype=memory.dtype) if groups is None else groups
    moments = np.arange(len(memory)) * memory
    return PriceSums(unit, _before(memory), _before(moments), _before(groups))


def _before(values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=values.dtype)
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums
