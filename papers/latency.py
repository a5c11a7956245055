"""Mean latencies in seconds by method, and figures computed from them."""

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
def method_text(method: str) -> str:
    """Return the method's text in rows, without parameters at their default."""
    return read_method(method).text


def _by_instance(rows: pd.DataFrame, method: str) -> dict[str, float]:
    """Return the mean latency (seconds) by instance, NaN if a run has no schedule."""
    kept = rows["method"].to_numpy() == method_text(method)
    tel = rows["tel"].to_numpy(dtype=float, na_value=np.nan)[kept]
    n = rows["n"].to_numpy(dtype=float, na_value=np.nan)[kept]
    found: dict[str, list[float]] = {}
    for sha, latency in zip(rows["instance_sha256"].to_numpy()[kept], tel / n, strict=True):
        found.setdefault(sha, []).append(latency / NANOSECONDS)
    return {sha: float(np.mean(values)) for sha, values in found.items()}


def latencies(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return a method's mean latency (seconds) by instance; seeds are averaged.

    An instance with a run without a schedule is left out.
    """
    return pd.Series(_by_instance(rows, method), dtype=float).dropna()


def mean_latency(method: str) -> Figure:
    """Return the figure: mean over instances of a method's mean latency (seconds)."""
    return lambda rows: mean_of(latencies(rows, method))


def latency_ratio(method: str, other: str) -> Figure:
    """Return the figure: mean over instances of one method's latency over another's."""

    def figure(rows: pd.DataFrame) -> Span | None:
        pairs = pd.concat([latencies(rows, method), latencies(rows, other)], axis=1).dropna()
        return ratio_of(*(list(pairs[column]) for column in pairs)) if len(pairs) else None

    return figure


def least(figures: Iterable[Figure]) -> Figure:
    """Return the figure: the least of several; None if one is missing."""
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
    """Return a method's latencies by instance; a run without a schedule is infinite."""
    return pd.Series(_by_instance(rows, method), dtype=float).fillna(math.inf)


def over_best(methods: Iterable[str], others: Iterable[str], *, worst: bool = False) -> Figure:
    """Return the figure: least and largest quotient of latencies over the instances.

    Numerator: least latency of ``methods``, or largest with ``worst``.  Denominator: least latency
    of ``others``.  A run without a schedule counts as infinite; a missing run does not count.
    """
    ours, theirs = tuple(methods), tuple(others)

    def figure(rows: pd.DataFrame) -> Span | None:
        table = pd.DataFrame({name: costs(rows, name) for name in dict.fromkeys(ours + theirs)})
        kept, best = table[list(ours)], table[list(theirs)].min(axis=1)
        quotients = ((kept.max(axis=1) if worst else kept.min(axis=1)) / best).dropna()
        if quotients.empty:
            return None
        return Span(*(float(quotients.agg(take)) for take in ("min", "max", "median")))

    return figure


def worst_over_best(method: str, others: Iterable[str]) -> Figure:
    """Return the figure: largest latency of a method over the least of all others."""
    names = tuple(others)

    def figure(rows: pd.DataFrame) -> Span | None:
        ours = latencies(rows, method)
        theirs = [latencies(rows, name) for name in names]
        if ours.empty or any(each.empty for each in theirs):
            return None
        return exactly(float(ours.max() / min(each.min() for each in theirs)))

    return figure


def loops(rows: pd.DataFrame) -> pd.Series:
    """Return True for each run with a proof that it loops for ever."""
    return rows["status"].eq("no_solution") & rows["detail"].str.contains("loops for ever")


def loop_share(methods: Iterable[str]) -> Figure:
    """Return the figure: share of some methods' runs that loop for ever."""
    names = [method_text(method) for method in methods]

    def figure(rows: pd.DataFrame) -> Span | None:
        kept = rows[rows["method"].isin(names)]
        return exactly(float(loops(kept).mean())) if len(kept) else None

    return figure
