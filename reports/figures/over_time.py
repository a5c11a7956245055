"""The mean gap over time, from the traces of the engines."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.figures import style
from reports.metrics import mean_gap_over_time
from reports.traces import Timed

_POINTS = 160
_FIRST_SECOND = 0.05


def over_time_figure(given: Timed) -> style.Drawing | None:
    """Return the mean gap of each engine at time t, to the best known TEL and to its own bound.

    Before its first incumbent a run counts with a gap of 100 %.  Coloured are the engines with the
    least mean primal-dual gap, at most ten.
    """
    engines = given.runs
    if engines.empty:
        return None
    steps = {
        "incumbent to the best known TEL": given.primal,
        "incumbent to its own bound": given.primal_dual,
    }
    end = float(engines["time_limit"].fillna(engines["seconds"]).max())
    if not np.isfinite(end) or end <= _FIRST_SECOND:
        return None
    times = np.geomspace(_FIRST_SECOND, end, _POINTS)
    panels = {title: _curves(each, engines, times) for title, each in steps.items()}
    last = list(panels.values())[-1]
    order = sorted(last, key=lambda name: (float(last[name].mean()), name))
    shown = order[: style.MOST_CURVES]
    with style.drawing(9.8, 3.9, slim=True) as made:
        all_axes = made.figure.subplots(1, 2, sharex=True)
        for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
            drawn = {name: (times, curve) for name, curve in curves.items()}
            style.draw_curves(axes, drawn, shown, steps=True)
            axes.set(xscale="log", xlim=(times[0], end))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_ylim(bottom=0)
            style.percent_axis(axes.yaxis)
            axes.set(title=title, xlabel="seconds")
        all_axes[0].set_ylabel("mean gap")
        style.add_legend(made.figure, all_axes[1:], len(order) - len(shown))
    return made


def _curves(steps: pd.DataFrame, engines: pd.DataFrame, times: np.ndarray) -> dict[str, np.ndarray]:
    label = steps["run"].map(engines["label"])
    counts = {str(name): count for name, count in engines["label"].value_counts().items()}
    return {
        name: mean_gap_over_time(steps[label == name], counts[name], times)
        for name in sorted(counts)
    }
