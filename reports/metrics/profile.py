"""Performance profiles (Dolan & Moré 2002)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def performance_ratios(costs: pd.DataFrame) -> pd.DataFrame:
    """Return cost / best cost of the instance, infinite for failures (Dolan & Moré's r_M).

    Parameters
    ----------
    costs
        One row an instance, one column a method, in any unit; smaller is better, missing means
        failed.  Instances on which all failed stay in, infinite for all, as the paper has it.
    """
    costs = costs.astype(float)
    return costs.div(costs.min(axis=1), axis=0).fillna(np.inf)


def profile(ratios: pd.DataFrame, taus: Sequence[float]) -> pd.DataFrame:
    """Return ρ(τ), the share of instances with a ratio of at most τ: rows τ, columns methods.

    Parameters
    ----------
    ratios
        From :func:`performance_ratios`.
    taus
        Factors, 1 or more.
    """
    within = {
        method: np.searchsorted(np.sort(ratios[method].to_numpy()), _widened(taus), side="right")
        for method in ratios.columns
    }
    return pd.DataFrame(within, index=pd.Index(taus, name="tau")) / max(len(ratios), 1)


def _widened(taus: Sequence[float]) -> np.ndarray:
    # A ratio is a rounded quotient: 1.1 may be computed as slightly more.
    return np.asarray(taus, dtype=float) * (1 + 1e-12)
