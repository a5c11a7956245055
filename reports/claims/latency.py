"""Mean latencies in seconds by method, and what pages say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from instances.batch_time import NANOSECONDS
from kvopt.methods.grammar import read_method
from reports.claims.span import Span, exactly, mean_of, ratio_of

Figure = Callable[[pd.DataFrame], Span | None]


def named(method: str) -> str:
    """Return the text of a method as rows have it, which leaves out parameters at their default."""
    return read_method(method).text


def mean_latencies(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean latency (seconds) of each instance (line) under each method (column).

    Seeds of a method that draws are averaged; missing where one of them gave no schedule.
    """
    latency = rows["tel"].astype(float) / rows["n"].astype(float) / NANOSECONDS
    keyed = rows.assign(latency=latency).groupby(["instance_sha256", "method"])["latency"]
    table: pd.DataFrame = keyed.agg(lambda each: each.mean(skipna=False)).unstack()
    return table


def latencies(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return the mean latency (seconds) of each instance under a method; empty without rows."""
    table = mean_latencies(rows)
    found = table[named(method)] if named(method) in table else pd.Series(dtype=float)
    return found.dropna()


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
