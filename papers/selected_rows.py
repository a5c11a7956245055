"""Figures of selected rows: one size, one family, or one parameter of a draw."""

from collections.abc import Callable

import pandas as pd

from papers.latency import Figure, latencies
from papers.span import Span, exactly


def parameter(rows: pd.DataFrame, key: str) -> pd.Series:
    """Return a column of the rows, or a parameter read from instance names."""
    if key in rows:
        return rows[key].astype(float)
    named: pd.Series = rows["instance"].str.extract(rf"_{key}([0-9.]+)", expand=False)
    return named.astype(float)


def restrict(figure: Figure, **values: float) -> Figure:
    """Return the figure of the rows with these parameter values."""

    def chosen(rows: pd.DataFrame) -> Span | None:
        for key, value in values.items():
            rows = rows[parameter(rows, key).eq(value)]
        return figure(rows)

    return chosen


def restrict_family(family: str, figure: Figure) -> Figure:
    """Return the figure of one family's rows."""
    return lambda rows: figure(rows[rows["family"] == family])


def ratios(rows: pd.DataFrame, method: str, other: str) -> pd.Series:
    """Return the quotient of two methods' mean latencies by instance; seeds are averaged."""
    found: pd.Series = (latencies(rows, method) / latencies(rows, other)).dropna()
    return found


def of_instances(rows: pd.DataFrame, key: str, by: pd.Series) -> pd.Series:
    """Return a parameter for each instance in the index of ``by``."""
    values = parameter(rows, key).groupby(rows["instance_sha256"]).first()
    return values.reindex(by.index)


def share(held: Callable[[pd.DataFrame], pd.Series]) -> Figure:
    """Return the figure: share of instances for which ``held`` is True; None without rows."""

    def figure(rows: pd.DataFrame) -> Span | None:
        found = held(rows)
        return exactly(float(found.mean())) if len(found) else None

    return figure
