"""Figures of some of a page's rows: those of one size, or drawn with some parameter."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from papers.latency import Figure, latencies
from papers.span import Span, exactly


def parameter(rows: pd.DataFrame, key: str) -> pd.Series:
    """Return a column of the rows, or what the names say that the instances were drawn with."""
    if key in rows:
        return rows[key].astype(float)
    named: pd.Series = rows["instance"].str.extract(rf"_{key}([0-9.]+)", expand=False)
    return named.astype(float)


def among(figure: Figure, **values: float) -> Figure:
    """Return a figure of the rows whose parameters have these values only."""

    def chosen(rows: pd.DataFrame) -> Span | None:
        for key, value in values.items():
            rows = rows[parameter(rows, key).eq(value)]
        return figure(rows)

    return chosen


def of_family(family: str, figure: Figure) -> Figure:
    """Return a figure of the rows of one family only."""
    return lambda rows: figure(rows[rows["family"] == family])


def ratios(rows: pd.DataFrame, method: str, other: str) -> pd.Series:
    """Return one method's mean latency over another's, by instance; seeds are averaged."""
    found: pd.Series = (latencies(rows, method) / latencies(rows, other)).dropna()
    return found


def of_instances(rows: pd.DataFrame, key: str, by: pd.Series) -> pd.Series:
    """Return a parameter of the instances that stand in another series' index."""
    values = parameter(rows, key).groupby(rows["instance_sha256"]).first()
    return values.reindex(by.index)


def share(held: Callable[[pd.DataFrame], pd.Series]) -> Figure:
    """Return what gives the share of instances for which something held; None without any."""

    def figure(rows: pd.DataFrame) -> Span | None:
        found = held(rows)
        return exactly(float(found.mean())) if len(found) else None

    return figure
