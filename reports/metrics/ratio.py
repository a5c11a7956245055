"""The ratio of a policy to the optimum, as an interval where the optimum is open."""

from __future__ import annotations

import pandas as pd


def ratio_interval(
    values: pd.Series, lower_bounds: pd.Series, upper_bounds: pd.Series
) -> pd.DataFrame:
    """Return the interval [value / UB, value / LB] that holds value / OPT, as columns low, high.

    As LB <= OPT <= UB, the true ratio is in it.  Without an upper bound the lower end is missing;
    without a positive lower bound the upper end is missing, which means that it is not known.

    Parameters
    ----------
    values, lower_bounds, upper_bounds
        TELs in rounds; where OPT is known both bounds are OPT.
    """
    value = values.astype("Float64")
    lower = lower_bounds.astype("Float64")
    upper = upper_bounds.astype("Float64")
    return pd.DataFrame(
        {"low": value / upper.where(upper > 0), "high": value / lower.where(lower > 0)}
    )
