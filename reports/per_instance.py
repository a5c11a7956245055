"""Means and spread over seeds: one line per instance and method, families that weigh alike."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pandas.core.groupby import SeriesGroupBy


_OF_THE_PAIR = ["method", "told", "family", "instance", "n", "memory", "known", "standing"]
_OF_THE_PAIR += ["engine", "marked"]
_SPREAD_NOTE = " ± is the standard deviation of that mean over the seeds."
#: The seed in the name of an instance that a family has drawn.
_SEED = re.compile(r"_seed\d+")


def average_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the seeds of each instance and method, which estimates E[ALG].

    Columns id, label, method, told, family, instance, n, memory, known, standing, engine, marked,
    tel, ratio_low, ratio_high, failed, kept (in one seed at least), seconds, optimal (share of the
    seeds), gap_low and gap_high (a seed without a schedule counts as 1), by_seed (the seeds'
    gap_low). If any seed gave no schedule, tel and ratios are missing: a mean would hide failures.
    """
    groups = runs.groupby(["id", "label"], sort=True)
    first = groups[_OF_THE_PAIR].first()
    complete = groups["tel"].count().eq(groups["tel"].size())
    means = groups[["tel", "ratio_low", "ratio_high"]].mean().astype("Float64")
    optimal = runs["gap_opt"].eq(0).fillna(False) & ~runs["kept"]
    frame = first.join(means.where(complete, axis=0)).assign(
        kept=groups["kept"].any(),
        seconds=groups["seconds"].mean(),
        optimal=optimal.astype(float).groupby([runs["id"], runs["label"]], sort=True).mean(),
        gap_low=groups["gap_low"].mean(),
        by_seed=runs.sort_values("seed").groupby(["id", "label"])["gap_low"].agg(tuple),
        # Without a bound for one seed, nothing is known of the mean's upper end.
        gap_high=whole_mean(groups["gap_high"]),
    )
    return frame.assign(failed=frame["tel"].isna()).reset_index()


def whole_mean(groups: SeriesGroupBy[Any, Any]) -> pd.Series:
    """Return the mean of each group, missing where one of its values is."""
    return groups.mean().where(groups.count().eq(groups.size()))


def family_mean(frame: pd.DataFrame, column: str) -> pd.Series:
    """Return for each ``label`` the mean over the families of a column's mean in each.

    The mean is missing where a value is: without it the instances would be others.
    """
    means = whole_mean(frame.groupby(["label", "family"])[column])
    return whole_mean(means.groupby("label"))


def worst_instances(averaged: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return for each group the line of the instance with the greatest lower end of the ratio.

    The smallest of equal ones is taken. Added are ``instances`` and ``unsolved``; where an instance
    has no schedule, ``ratio_high`` is missing and ``known`` False.
    """
    order = [*keys, "ratio_low", "n", "instance", "id"]
    ascending = [each != "ratio_low" for each in order]
    ordered = averaged.sort_values(order, ascending=ascending, na_position="last")
    worst = ordered.drop_duplicates(keys).set_index(keys)
    groups = averaged.groupby(keys)
    unsolved = groups["failed"].sum()
    # Aligned by the keys.
    whole = unsolved.eq(0).reindex(worst.index)
    return worst.assign(
        instances=groups["id"].nunique(),
        unsolved=unsolved,
        known=worst["known"].astype(bool) & whole,
        ratio_high=worst["ratio_high"].where(whole),
    )


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
    return _SPREAD_NOTE if spreads.notna().any() else ""
