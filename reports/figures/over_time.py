"""The mean gap over time, from the traces of the engines."""

from __future__ import annotations

import numpy as np

from reports.figures import figure_parts
from reports.formulas import mean_gap_over_time
from reports.gaps_over_time import EngineGaps

_POINTS = 160
_FIRST_SECOND = 0.05


def over_time_figure(given: EngineGaps) -> figure_parts.Drawing | None:
    """Return the mean gap of each engine at time t, to the best known TEL and to its own bound.

    Before its first incumbent a run counts with a gap of 100 %.  The engines with the least mean
    primal-dual gap are coloured, at most ten.
    """
    engines = given.runs
    end = float(engines["time_limit"].fillna(engines["seconds"]).max())
    if not np.isfinite(end) or end <= _FIRST_SECOND:
        return None
    times = np.geomspace(_FIRST_SECOND, end, _POINTS)
    panels = {}
    for title, steps in (
        ("incumbent to the best known TEL", given.primal),
        ("incumbent to its own bound", given.primal_dual),
    ):
        label = steps["run"].map(engines["label"])
        panels[title] = {
            str(name): mean_gap_over_time(steps[label == name], count, times)
            for name, count in engines["label"].value_counts().sort_index().items()
        }
    order = sorted(panels[title], key=lambda name: (float(panels[title][name].mean()), name))
    shown = order[: figure_parts.MOST_CURVES]
    with figure_parts.drawing(9.8, 3.9, slim=True) as made:
        all_axes = made.figure.subplots(1, 2, sharex=True)
        for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
            drawn = {name: (times, curve) for name, curve in curves.items()}
            figure_parts.draw_curves(axes, drawn, shown, steps=True)
            axes.set(xscale="log", xlim=(times[0], end), title=title, xlabel="seconds")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_ylim(bottom=0)
            figure_parts.percent_axis(axes.yaxis)
        all_axes[0].set_ylabel("mean gap")
        figure_parts.add_legend(made.figure, all_axes[1:], len(order) - len(shown))
    return made
