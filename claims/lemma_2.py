"""The ratio that chen2025 states of A_min against H-SF, with no prompts and lengths from 1 on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from instances.families.worst_mix import forms


def stated_ratio(shares: NDArray[np.float64]) -> float:
    """Return x'Ax / x'Bx (Corollary 1), which is Lemma 2 for s = 0 and ℓ = 1.

    Parameters
    ----------
    shares
        Of the outputs 1, 2, .., shape (u,).
    """
    above, below = forms(len(shares))
    return float((shares @ above @ shares) / (shares @ below @ shares))


def hindsight(shares: NDArray[np.float64]) -> float:
    """Return x'Bx: n²/(2M) times that is the TEL of H-SF in the limit (rounds)."""
    return float(shares @ forms(len(shares))[1] @ shares)


def geometric(p: float, upper: int, *, weighted: bool = False) -> NDArray[np.float64]:
    """Return the shares of 1..u in G(p), or in LG(p), given o <= u."""
    k = np.arange(1, upper + 1, dtype=float)
    weights = (1 - p) ** (k - 1) * (k if weighted else 1)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
