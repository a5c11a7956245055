"""Gaps at both ends of a prediction's quality, and the value at which it is worth nothing."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.parameter_curves import BLIND, CLAIRVOYANT, Panel
from reports.table import Column, Table, columns, write_share
from serving.answer import BASE

#: Draws of the bootstrap, and the shares of them below the ends of its interval.
_DRAWS, _SHARES = 1000, (0.025, 0.975)
_NOTE = (
    "Mean gaps to OPT over the instances that all policies of a family and prediction were run on. "
    "Best: the online policy of the class with the least mean gap there."
)
_EVEN = (
    "up to this value, from the exact end on, predictions help: the mean gap to the best known "
    "schedules is at most the best non-clairvoyant policy's; linear between two values. always: "
    "they help at every value; never: at none. In brackets 95 % of 1,000 bootstrap draws of "
    "instances, each with all its seeds; no brackets: one instance, or both ends are the value."
)
_SAVED = f"the share of {BASE}'s total latency, mean over the instances; brackets as above."


def prediction_table(panels: Sequence[Panel]) -> Table:
    """Return one line a family, prediction and policy."""
    shown = (
        *columns("name", family="family", parameter="prediction", policy="policy"),
        *columns("share", exact="gap, exact end", other="gap, other end"),
        Column("even", "break-even", note=_EVEN),
        Column("base", f"break-even with {BASE}"),
        Column("saved", f"saving over {BASE}, exact end", note=_SAVED),
        Column("rest", "saving, other end"),
        *columns("name", blind=f"best {BLIND}", clairvoyant=f"best {CLAIRVOYANT}"),
    )
    lines = [line for each in panels for line in _lines(each)]
    frame = pd.DataFrame(lines, columns=[each.key for each in shown])
    return Table("prediction-worth", "What predictions are worth", _NOTE, shown, frame)


def _lines(panel: Panel) -> Iterator[tuple[str, ...]]:
    low, high = (panel.points(each).loc[panel.values] for each in ("gap_low", "gap_high"))
    best = {
        knows: f"{runs['label'].iloc[0]}, "
        + write_share(panel.level(knows, "gap_low"), panel.level(knows, "gap_high"))
        for knows, runs in panel.best.items()
    }
    for policy in low.columns:
        own = low[policy].dropna().index[[0, -1]]
        ends = [write_share(low[policy][value], high[policy][value]) for value in own]
        even = (_even(panel, policy, each) for each in (BLIND, BASE))
        others = (best.get(knows, "") for knows in (BLIND, CLAIRVOYANT))
        saved = (_saving(panel, policy, value) for value in own)
        yield panel.family, panel.parameter, policy, *ends, *even, *saved, *others


def _even(panel: Panel, policy: str, other: str) -> str:
    """Return the break-even value with its interval; empty where the other was not run."""
    if other not in panel.best:
        return ""
    runs = panel.runs[panel.runs["policy"].eq(policy)]
    gaps = runs.pivot_table(index="id", columns="value", values="gap_low")
    values = [value for value in panel.values if value in gaps]
    blind = panel.best[other].groupby("id")["gap_low"].mean()
    over = gaps[values].sub(blind, axis=0).dropna().to_numpy(dtype=float)
    if not len(over):
        return ""
    value, *ends = break_even(values, over)
    low, high = sorted(ends) if np.isfinite(ends).all() else ends
    return _with_interval("", *map(_text, (value, low, high)))


def _saving(panel: Panel, policy: str, value: float) -> str:
    """Return the share of latency that a policy saves, and its interval; empty as above."""
    runs = panel.runs[panel.runs["policy"].eq(policy) & panel.runs["value"].eq(value)]
    if BASE not in panel.best or runs["tel"].isna().any():
        return ""
    tels = (each.groupby("id")["tel"].mean().astype(float) for each in (runs, panel.best[BASE]))
    mean, *drawn = _bootstrap(np.asarray(100 * (1 - next(tels) / next(tels)), dtype=np.float64))
    low, high = np.quantile(drawn, _SHARES, method="inverted_cdf")
    return _with_interval(" %", *(f"{each:.1f}" for each in (mean, low, high)))


def _with_interval(unit: str, value: str, low: str, high: str) -> str:
    """Return a value, and its interval unless both ends are the value, as of one instance."""
    return f"{value}{unit}" + ("" if low == high == value else f" [{low}, {high}]")


def _text(value: float) -> str:
    return ("always" if value > 0 else "never") if np.isinf(value) else f"{value:.3g}"


def break_even(values: Sequence[float], over: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the value at which the mean of gaps first exceeds 0, and its bootstrap interval.

    ``over`` has a row an instance, a column a value from the exact end on.  -inf: at the first
    value already; inf: at none.
    """
    places = _crossings(_bootstrap(over))
    ends = np.quantile(places[1:], _SHARES, method="inverted_cdf")
    found = np.interp([places[0], *ends], range(len(values)), values, left=-np.inf, right=np.inf)
    return float(found[0]), float(found[1]), float(found[2])


def _bootstrap(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of rows, and below it their means in 1,000 draws of rows."""
    n = len(rows)
    draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), _DRAWS) / n
    return np.concatenate([rows.mean(axis=0)[None], draws @ rows])


def _crossings(over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the place, between two columns, at which it first exceeds 0."""
    above = over > 0
    first = above.argmax(axis=1)
    ends = np.take_along_axis(over, np.stack([first - 1, first], axis=1), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = first - ends[:, 1] / (ends[:, 1] - ends[:, 0])
    return np.where(above.any(axis=1), np.where(first, place, -1.0), over.shape[1])
