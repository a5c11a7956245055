"""The shifted geometric mean (Achterberg 2007; Mittelmann's benchmarks)."""

from __future__ import annotations

import numpy as np
import pandas as pd

#: Shift of times, seconds: runs of an instant then do not decide the mean.  Mittelmann shifts by
#: 10 s under limits of hours; the limits here are of seconds and minutes.
SHIFT_SECONDS = 1.0


def shifted_geometric_mean(values: pd.Series, shift: float = SHIFT_SECONDS) -> float:
    """Return exp(mean(log(value + shift))) - shift; NaN where there is no value.

    Parameters
    ----------
    values
        Not negative; of unsolved runs what they are counted as, see :func:`counted_seconds`.
    shift
        In the unit of the values.
    """
    known = values.dropna().to_numpy(dtype=float)
    if not len(known):
        return float("nan")
    return float(np.exp(np.log(known + shift).mean()) - shift)


def counted_seconds(seconds: pd.Series, solved: pd.Series, time_limits: pd.Series) -> pd.Series:
    """Return the seconds of solved runs, and of all others their time limit, however they ended.

    So a run that crashes at once counts as one that has used all its time; a solved run never
    counts with more than its limit.
    """
    limits = time_limits.astype(float)
    return seconds.astype(float).clip(upper=limits).where(solved.astype(bool), limits)
