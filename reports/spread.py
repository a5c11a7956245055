"""Spread over seeds: the standard deviation of a mean over instances, seed by seed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from operator import itemgetter

import numpy as np
import pandas as pd

_NOTE = " ± is the standard deviation of that mean over the seeds."
#: The seed in the name of an instance that a family has drawn.
_SEED = re.compile(r"_seed\d+")


def spread(lines: pd.DataFrame) -> float:
    """Return the sample standard deviation, over the seeds, of a mean over instances; NaN with one.

    ``lines`` has instance, family and by_seed. A seed is the method's, or the family's where its
    instances are all drawn with the same seeds. Families weigh alike. Instances with fewer seeds
    than others are left out, so each seed's mean is over the same instances.
    """
    columns = (lines[name] for name in ("instance", "family", "by_seed"))
    ordered = sorted(zip(*columns, strict=True), key=itemgetter(0))
    drawn: dict[tuple[str, str], list[float]] = defaultdict(list)
    for instance, family, seeds in ordered:
        drawn[family, _SEED.sub("", instance)].extend(seeds)
    rows = [(family, seeds) for (family, _), seeds in sorted(drawn.items())]
    if len({len(seeds) for _, seeds in rows}) > 1:
        rows = [(family, seeds) for _, family, seeds in ordered]
    most = max((len(seeds) for _, seeds in rows), default=0)
    if most < 2:
        return float("nan")
    kept = [(family, seeds) for family, seeds in rows if len(seeds) == most]
    sizes = Counter(family for family, _ in kept)
    weights = [1 / sizes[family] for family, _ in kept]
    means = np.average(np.array([seeds for _, seeds in kept], dtype=float), axis=0, weights=weights)
    return float(means.std(ddof=1))


def spreads(lines: pd.DataFrame, keys: str | list[str]) -> pd.Series:
    """Return the spread of each group of lines."""
    groups = lines.groupby(keys)[["instance", "family", "by_seed"]]
    return pd.Series([spread(each) for _, each in groups], groups.size().index, dtype=float)


def spread_of_runs(runs: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return the spread of the mean gap to the best known schedule of each group of runs."""
    lines = runs.sort_values("seed").groupby([*keys, "id"], as_index=False)
    named = lines.agg(
        by_seed=("gap_low", tuple), instance=("instance", "first"), of=("family", "first")
    )
    return spreads(named.assign(family=named.pop("of")), keys)


def spread_note(spreads: pd.Series) -> str:
    """Return the meaning of ±, for the note of a table; empty where no line has it."""
    return _NOTE if spreads.notna().any() else ""
