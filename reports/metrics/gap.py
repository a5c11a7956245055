"""Gap of a value above a reference: (value - reference) / value, the gap of docs/glossary.md."""

from __future__ import annotations

import pandas as pd


def gap(values: pd.Series, references: pd.Series) -> pd.Series:
    """Return (value - reference) / value, a share: 0 is no gap, 1 is never reached.

    For a value that is at least the reference this is Berthold's primal gap too.  It is negative
    where the value is below the reference, as a policy's may be that preempts and keeps tokens.

    Parameters
    ----------
    values, references
        TELs and what they are compared with (rounds); missing ones give a missing gap.
    """
    value = values.astype("Float64")
    return (value - references.astype("Float64")) / value.where(value != 0)
