"""Spread over seeds: the standard deviation of a mean over instances, seed by seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import repeat

import numpy as np
import pandas as pd

_NOTE = " ± is the standard deviation of that mean over the seeds."


def spread(by_seed: Iterable[tuple[float, ...]], families: Iterable[str] = repeat("")) -> float:
    """Return the sample standard deviation, over the seeds, of a mean over instances.

    Parameters
    ----------
    by_seed
        The values of each instance in the order of its seeds.  Instances with fewer seeds than
        others are left out: a seed's mean is over the same instances as the next one's.
    families
        The family of each instance; families weigh alike.

    Returns
    -------
    float
        Not a number with one seed.
    """
    rows = list(zip(by_seed, families, strict=False))
    most = max((len(row) for row, _ in rows), default=0)
    if most < 2:
        return float("nan")
    kept = [(row, family) for row, family in rows if len(row) == most]
    sizes = Counter(family for _, family in kept)
    table = np.array([row for row, _ in kept], dtype=float)
    means = np.average(table, axis=0, weights=[1 / sizes[family] for _, family in kept])
    return float(means.std(ddof=1))


def family_spread(frame: pd.DataFrame) -> pd.Series:
    """Return of each ``label`` the spread of the mean gap in which families weigh alike."""
    groups = frame.groupby("label")[["by_seed", "family"]]
    return pd.Series(
        {label: spread(lines["by_seed"], lines["family"]) for label, lines in groups}, dtype=float
    )


def spread_of_runs(runs: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return the spread of the mean gap to the best known schedule of each group of runs."""
    drawn = runs[runs.groupby([*keys, "id"])["seed"].transform("nunique").gt(1)]
    by_seed = drawn.sort_values("seed").groupby([*keys, "id"])["gap_low"].agg(tuple)
    return by_seed.groupby(keys).agg(spread).astype(float)


def spread_note(spreads: pd.Series) -> str:
    """Return what ± means, for the note of a table; empty where no line has it."""
    return _NOTE if spreads.notna().any() else ""
