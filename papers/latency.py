"""Mean latencies in seconds by method, and what pages say of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pandas as pd

from instances.batch_time import NANOSECONDS
from kvopt.methods.grammar import read_method
from papers.span import Span, exactly, mean_of, ratio_of

Figure = Callable[[pd.DataFrame], Span | None]


@cache
def named(method: str) -> str:
    """Return the text of a method as rows have it, which leaves out parameters at their default."""
    return read_method(method).text


def _by_instance(rows: pd.DataFrame, method: str) -> dict[str, float]:
    """Return the mean latency (seconds) of each instance, NaN if a run gave no schedule."""
    own = rows["method"].to_numpy() == named(method)
    tel = rows["tel"].to_numpy(dtype=float, na_value=np.nan)[own]
    n = rows["n"].to_numpy(dtype=float, na_value=np.nan)[own]
    found: dict[str, list[float]] = {}
    for sha, latency in zip(rows["instance_sha256"].to_numpy()[own], tel / n, strict=True):
        found.setdefault(sha, []).append(latency / NANOSECONDS)
    return {sha: float(np.mean(values)) for sha, values in found.items()}


def latencies(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return the mean latency (seconds) of each instance under a method; empty without rows.

    Seeds of a method that draws are averaged; an instance is left out if one gave no schedule.
    """
    return pd.Series(_by_instance(rows, method), dtype=float).dropna()


def mean_latency(method: str) -> Figure:
    """Return what gives the mean of a method's mean latencies over the instances (seconds)."""
    return lambda rows: mean_of(latencies(rows, method))


def latency_ratio(method: str, other: str) -> Figure:
    """Return what gives the mean over instances of one method's latency over another's."""

    def figure(rows: pd.DataFrame) -> Span | None:
        pairs = pd.concat([latencies(rows, method), latencies(rows, other)], axis=1).dropna()
        return ratio_of(*(list(pairs[column]) for column in pairs)) if len(pairs) else None

    return figure


def least(figures: Iterable[Figure]) -> Figure:
    """Return what gives the least of several figures; None where one is missing."""
    every = tuple(figures)

    def figure(rows: pd.DataFrame) -> Span | None:
        spans = [each(rows) for each in every]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        values = [span.value for span in known if span.value is not None]
        return Span(
            min(span.low for span in known),
            min(span.high for span in known),
            min(values) if len(values) == len(known) else None,
        )

    return figure


def costs(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return the latencies of a method with those that have no end, or none in the time, infinite.

    An instance on which it was not run is not there.
    """
    return pd.Series(_by_instance(rows, method), dtype=float).fillna(math.inf)


def over_best(methods: Iterable[str], others: Iterable[str], *, worst: bool = False) -> Figure:
    """Return what gives the least and the largest quotient of latencies over the instances.

    It is the least latency of some methods (the largest with ``worst``) over the least of others;
    what has no schedule counts as infinite, and what was not run does not count.
    """
    ours, theirs = tuple(methods), tuple(others)

    def figure(rows: pd.DataFrame) -> Span | None:
        table = pd.DataFrame({name: costs(rows, name) for name in dict.fromkeys(ours + theirs)})
        own, best = table[list(ours)], table[list(theirs)].min(axis=1)
        quotients = ((own.max(axis=1) if worst else own.min(axis=1)) / best).dropna()
        if quotients.empty:
            return None
        return Span(*(float(quotients.agg(take)) for take in ("min", "max", "median")))

    return figure


def worst_over_best(method: str, others: Iterable[str]) -> Figure:
    """Return what gives the largest latency of a method over the least of any other's."""
    names = tuple(others)

    def figure(rows: pd.DataFrame) -> Span | None:
        ours = latencies(rows, method)
        theirs = [latencies(rows, name) for name in names]
        if ours.empty or any(each.empty for each in theirs):
            return None
        return exactly(float(ours.max() / min(each.min() for each in theirs)))

    return figure


def loops(rows: pd.DataFrame) -> pd.Series:
    """Return for each run whether it was proved to go on for ever."""
    return rows["status"].eq("no_solution") & rows["detail"].str.contains("loops for ever")


def loop_share(methods: Iterable[str]) -> Figure:
    """Return what gives the share of runs of some methods that go on for ever."""
    names = [named(method) for method in methods]

    def figure(rows: pd.DataFrame) -> Span | None:
        own = rows[rows["method"].isin(names)]
        return exactly(float(loops(own).mean())) if len(own) else None

    return figure
