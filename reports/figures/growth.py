"""Ratio against M on the traps, one panel a series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reports.figures.spots import Caption
from reports.figures.style import INK, Drawing, drawing, short_name, styles
from reports.interval import ratios
from reports.series import is_trap

_ACROSS = 3
_MOST_PANELS = 12
_NAMED_EACH = 3
#: Share of an axis that is left between two ticks at least.
_LEAST_APART = 0.07
_TICKS = (0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
#: Policies with a name in the legend, over all panels.
_MOST_NAMED = 12


def growth_figure(series: pd.DataFrame) -> Drawing | None:
    """Return the ratio of the policies that each trap hurts most: points, and intervals as bars.

    Named are the three worst policies of each panel at its largest memory; all others are grey.
    ``series`` is from :func:`reports.tables.growth.series_of`.
    """
    frame = series[series["ratio_low"].notna()]
    frame = frame[frame["family"].map(is_trap).astype(bool)] if len(frame) else frame
    # Several instances of one size: the worst is the one that a trap is about.
    order = ["series", "label", "memory", "ratio_low", "n", "id"]
    frame = frame.sort_values(order, ascending=[True, True, True, False, True, True])
    frame = frame.drop_duplicates(["series", "label", "memory"])
    groups = [(name, group) for name, group in frame.groupby("series", sort=True)][:_MOST_PANELS]
    if not groups:
        return None
    named: list[str] = []
    for _, group in groups:
        largest = group[group["memory"].eq(group["memory"].max())]
        worst = largest.sort_values(["ratio_low", "label"], ascending=[False, True])
        named += [name for name in worst["label"].iloc[:_NAMED_EACH] if name not in named]
    named = named[:_MOST_NAMED]
    rows = -(-len(groups) // _ACROSS)
    with drawing(3.0 * min(len(groups), _ACROSS) + 2.6, 2.7 * rows + 0.3, slim=True) as made:
        panels = np.atleast_1d(
            made.figure.subplots(rows, min(len(groups), _ACROSS), squeeze=False)
        ).ravel()
        for axes in panels[len(groups) :]:
            axes.set_visible(False)
        handles: dict[str, Any] = {}
        for axes, (name, group) in zip(panels, groups, strict=False):
            handles |= _panel(made, axes, str(name), group, named)
        shown = [name for name in named if name in handles]
        panels[0].set_ylabel("TEL / OPT")
        made.figure.legend(
            [handles[name] for name in shown],
            [short_name(name) for name in shown],
            loc="outside right upper",
        )
    return made


def _panel(
    made: Drawing, axes: Any, series: str, group: pd.DataFrame, named: list[str]
) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    others = group[~group["label"].isin(named)]
    x, low, high = _ends(others)
    # One drawing for all of them.
    axes.vlines(x, low, high, color=INK, alpha=0.25, linewidth=0.8)
    axes.plot(x, low, "_", color=INK, alpha=0.25, markersize=5)
    _tell(made, axes, others, x)
    for label, points in group[group["label"].isin(named)].groupby("label", sort=True):
        x, low, high = _ends(points)
        # Equal ratios would lie on one another: each policy stands a little beside the next.
        place = named.index(str(label)) - (len(named) - 1) / 2
        handles[str(label)] = axes.errorbar(
            x * 1.025**place,
            low,
            yerr=[0 * low, high - low],
            color=styles(named)[str(label)]["color"],
            linestyle="none",
            marker="o",
            markersize=4,
            elinewidth=2.2,
            capsize=3,
        )
        _tell(made, axes, points, x * 1.025**place)
    _scales(axes, series, group)
    return handles


def _tell(made: Drawing, axes: Any, points: pd.DataFrame, x: pd.Series) -> None:
    """Say of each point whose ratio it is, on which instance."""
    columns = ("label", "id", "instance", "ratio_low", "ratio_high", "known")
    lines = zip(x, *(points[name] for name in columns), strict=True)
    for place, label, identity, name, low, high, known in lines:
        caption = Caption(label, f"TEL / OPT {ratios(low, high, bool(known))}", identity, name)
        made.tell(axes, place, float(low), caption)


def _ends(points: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Return memory (tokens) and the ends of the ratio; without a bound the upper is the lower."""
    low = points["ratio_low"].astype(float)
    high = points["ratio_high"].astype(float).fillna(low).clip(lower=low)
    return points["memory"].astype(float), low, high


def _scales(axes: Any, series: str, group: pd.DataFrame) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted(set(group["memory"].astype(int)))
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    low, high = axes.get_ylim()
    ticks: list[float] = []
    for tick in _TICKS:
        # As many as there is room for.
        near = ticks and np.log(tick / ticks[-1]) < _LEAST_APART * np.log(high / low)
        if low <= tick <= high and not near:
            ticks.append(tick)
    axes.set_yticks(ticks if len(ticks) > 1 else np.linspace(low, high, 4).round(2))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_title(short_name(series), loc="left")
    axes.set_xlabel("M (tokens)")
