"""Means and spread over seeds: one line per instance and method, families that weigh alike."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pandas.core.groupby import SeriesGroupBy


_OF_THE_PAIR = ["method", "told", "family", "instance", "n", "memory", "known", "standing"]
_OF_THE_PAIR += ["engine", "marked"]
#: The base of a standard deviation: the seeds of a method, or the draws of its instances.
OVER_SEEDS = "k = {} seeds of the method".format
_OVER_DRAWS = "k = {} draws of each family (one seed)".format
#: The seed in the name of an instance that a family has drawn.
_SEED = re.compile(r"_seed\d+")


def average_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the seeds of each instance and method, which estimates E[ALG].

    Columns id, label, method, told, family, instance, n, memory, known, standing, engine, marked,
    tel, ratio_low, ratio_high, failed, kept (in one seed at least), seconds, optimal (share of the
    seeds, missing where OPT is open), gap_low and gap_high (a seed without a schedule counts as 1),
    by_seed (the seeds' gap_low). If any seed gave no schedule, tel and ratios are missing.
    """
    groups = runs.groupby(["id", "label"], sort=True)
    first = groups[_OF_THE_PAIR].first()
    complete = groups["tel"].count().eq(groups["tel"].size())
    means = groups[["tel", "ratio_low", "ratio_high"]].mean().astype("Float64")
    met = (runs["gap_opt"].eq(0).fillna(False) & ~runs["kept"]).astype(float)
    frame = first.join(means.where(complete, axis=0)).assign(
        kept=groups["kept"].any(),
        seconds=groups["seconds"].mean(),
        optimal=met.groupby([runs["id"], runs["label"]]).mean().where(groups["opt"].count().gt(0)),
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


def spread(lines: pd.DataFrame) -> tuple[float, str]:
    """Return the sample standard deviation of a mean over instances, and its base; NaN without one.

    ``lines`` has instance, family and by_seed; families weigh alike. The base is the seeds of the
    method, with the mean of each over the instances that have the most seeds. With one seed it is
    the draws, if all instances are drawn with the same seeds. Pairs of both are no base.
    """
    named = list(zip(lines["instance"], lines["family"], lines["by_seed"], strict=True))
    most, over = max((len(seeds) for *_, seeds in named), default=0), OVER_SEEDS
    rows = [(family, seeds) for _, family, seeds in named if len(seeds) == most]
    if most == 1:
        drawn: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for instance, family, (gap,) in named:
            drawn[family, _SEED.sub("", instance)]["".join(_SEED.findall(instance))] = gap
        rows = [
            (family, tuple(gaps[k] for k in sorted(gaps))) for (family, _), gaps in drawn.items()
        ]
        alike = len(set(map(frozenset, drawn.values()))) == 1
        most, over = len(rows[0][1]) * alike, _OVER_DRAWS
    if most < 2:
        return float("nan"), ""
    sizes = Counter(family for family, _ in rows)
    weights = [1 / sizes[family] for family, _ in rows]
    means = np.average(np.array([gaps for _, gaps in rows], dtype=float), axis=0, weights=weights)
    return float(means.std(ddof=1)), over(most)


def spreads(lines: pd.DataFrame, keys: str | list[str]) -> pd.DataFrame:
    """Return the spread of each group of lines, and its base as ``spread_over``."""
    groups = lines.groupby(keys)[["instance", "family", "by_seed"]]
    found = [spread(each) for _, each in groups]
    return pd.DataFrame(found, groups.size().index, columns=["spread", "spread_over"])


def spread_of_runs(runs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the spread of the mean gap to the best known schedule of each group of runs."""
    lines = runs.sort_values("seed").groupby([*keys, "id"], as_index=False)
    named = lines.agg(
        by_seed=("gap_low", tuple), instance=("instance", "first"), of=("family", "first")
    )
    return spreads(named.assign(family=named.pop("of")), keys)


def spread_note(*frames: pd.DataFrame, mark: str = "±") -> str:
    """Return the meaning of ± in lines of :func:`spreads`, for a note; empty where none has it."""
    found = {over for each in frames for over in each["spread_over"][each["spread"].notna()]}
    over = ", or ".join(sorted(found, key=lambda text: ("draws" in text, len(text), text)))
    return f" {mark} is the standard deviation over {over}, no standard error." if over else ""
