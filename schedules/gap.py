"""The gap of docs/glossary.md: how far a TEL is above what it is compared with, as its share.

For a value that is at least the reference this is Berthold's primal gap too.  It is negative where
the value is below the reference, as a policy's may be that preempts and keeps tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def gap(value: int, reference: int) -> float:
    """Return (value − reference) / value, of TELs or bounds of one unit; 0 for a value of 0."""
    return (value - reference) / value if value else 0.0


def gaps(values: pd.Series, references: pd.Series) -> pd.Series:
    """Return the gap of each value; a missing one, or a value of 0, gives a missing gap."""
    value = values.astype("Float64")
    return (value - references.astype("Float64")) / value.where(value != 0)
