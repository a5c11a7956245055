"""How a ratio grows with a size: the exponent of a power law by least squares on logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

#: Different sizes below which no exponent is fitted: two always lie on a line.
LEAST_SIZES = 3


class Fit(NamedTuple):
    """ratio ≈ c · size^exponent; ``r_squared`` is the share of the logarithms' variance."""

    exponent: float
    r_squared: float


def fit_exponent(sizes: pd.Series, ratios: pd.Series) -> Fit | None:
    """Return the slope of log(ratio) on log(size), None for fewer than three different sizes.

    Parameters
    ----------
    sizes
        Tokens or requests, positive.
    ratios
        Positive; missing ones are left out.
    """
    pairs = pd.DataFrame({"size": sizes.astype(float), "ratio": ratios.astype(float)}).dropna()
    pairs = pairs[(pairs["size"] > 0) & (pairs["ratio"] > 0) & np.isfinite(pairs["ratio"])]
    if pairs["size"].nunique() < LEAST_SIZES:
        return None
    x, y = np.log(pairs["size"].to_numpy()), np.log(pairs["ratio"].to_numpy())
    slope, intercept = np.polyfit(x, y, 1)
    total = float(((y - y.mean()) ** 2).sum())
    left = float(((y - slope * x - intercept) ** 2).sum())
    # A ratio that does not change at all is explained in full.
    return Fit(float(slope), 1.0 if total < 1e-18 else 1.0 - left / total)
