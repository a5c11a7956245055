"""The ratio that chen2025 states of A_min against H-SF, with no prompts and lengths from 1 on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stated_ratio(shares: NDArray[np.float64]) -> float:
    """Return x'Ax / x'Bx (Corollary 1), which is Lemma 2 for s = 0 and ℓ = 1.

    Parameters
    ----------
    shares
        Of the outputs 1, 2, .., shape (u,).
    """
    i = np.arange(1, len(shares) + 1, dtype=float)
    least = np.minimum.outer(i, i)
    a = least**2 / np.outer(i, i) * (np.add.outer(i, i) ** 2 / 2 - least**2)
    return float(shares @ a @ shares / hindsight(shares))


def hindsight(shares: NDArray[np.float64]) -> float:
    """Return x'Bx: n²/(2M) times that is the TEL of H-SF in the limit (rounds)."""
    i = np.arange(1, len(shares) + 1, dtype=float)
    return float(shares @ np.minimum.outer(i, i) ** 2 @ shares)


def geometric(p: float, upper: int, *, weighted: bool = False) -> NDArray[np.float64]:
    """Return the shares of 1..u in G(p), or in LG(p), given o <= u."""
    k = np.arange(1, upper + 1, dtype=float)
    weights = (1 - p) ** (k - 1) * (k if weighted else 1)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
