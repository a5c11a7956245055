"""Ratio against M on the traps, one panel a series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reports.figures.style import (
    INK,
    drawing,
    short_name,
    styles,
)
from reports.per_instance import per_instance
from reports.series import is_trap, with_series

_ACROSS = 3
_MOST_PANELS = 12
_CURVES_EACH = 3
#: Curves with a name in the legend, over all panels.
_MOST_NAMED = 12


def growth_figure(runs: pd.DataFrame) -> str | None:
    """Return the ratio of the policies that each trap hurts most; intervals as bars.

    Named are the three worst policies of each panel at its largest memory; all others are grey.
    """
    frame = with_series(per_instance(runs[~runs["engine"]]))
    frame = frame[frame["ratio_low"].notna()]
    frame = frame[frame["family"].map(is_trap).astype(bool)] if len(frame) else frame
    groups = [(name, group) for name, group in frame.groupby("series", sort=True)][:_MOST_PANELS]
    if not groups:
        return None
    named: list[str] = []
    for _, group in groups:
        largest = group[group["memory"].eq(group["memory"].max())]
        worst = largest.sort_values(["ratio_low", "label"], ascending=[False, True])
        named += [name for name in worst["label"].iloc[:_CURVES_EACH] if name not in named]
    named = named[:_MOST_NAMED]
    rows = -(-len(groups) // _ACROSS)
    with drawing(3.0 * min(len(groups), _ACROSS) + 2.6, 2.7 * rows + 0.3) as made:
        panels = np.atleast_1d(
            made.figure.subplots(rows, min(len(groups), _ACROSS), squeeze=False)
        ).ravel()
        for axes in panels[len(groups) :]:
            axes.set_visible(False)
        handles: dict[str, Any] = {}
        for axes, (series, group) in zip(panels, groups, strict=False):
            handles |= _panel(axes, str(series), group, named)
        shown = [name for name in named if name in handles]
        panels[0].set_ylabel("TEL / OPT")
        made.figure.legend(
            [handles[name] for name in shown],
            [short_name(name) for name in shown],
            loc="outside right upper",
        )
    return made.svg


def _panel(axes: Any, series: str, group: pd.DataFrame, named: list[str]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    for label, curve in group.groupby("label", sort=True):
        ordered = curve.sort_values(["memory", "n"])
        x, low = ordered["memory"].astype(float), ordered["ratio_low"].astype(float)
        if label not in named:
            axes.plot(x, low, color=INK, alpha=0.16, linewidth=0.8)
            continue
        colour = styles(named)[str(label)]["color"]
        high = ordered["ratio_high"].astype(float).fillna(low)
        container = axes.errorbar(
            x,
            low,
            yerr=[np.zeros(len(low)), np.maximum(high - low, 0.0)],
            color=colour,
            marker="o",
            markersize=3.5,
            linewidth=1.6,
            elinewidth=1.0,
            capsize=2,
        )
        handles[str(label)] = container
    _scales(axes, series, group)
    return handles


def _scales(axes: Any, series: str, group: pd.DataFrame) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    sizes = sorted(set(group["memory"].astype(int)))
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_title(short_name(series), loc="left")
    axes.set_xlabel("M (tokens)")
