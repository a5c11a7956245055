"""The mean gap against a parameter, one panel a parameter."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.figures import style
from reports.swept import by_family, curves
from support.text import cut_middle

MOST_PANELS = 6


def parameter_figure(runs: pd.DataFrame) -> style.Drawing | None:
    """Return the curves of :func:`reports.swept.curves`, None without any.

    A line is a family, or a method where several have the parameter.
    """
    found = curves(runs)
    parameters = list(dict.fromkeys(each.parameter for each in found))[:MOST_PANELS]
    if not found:
        return None
    with style.drawing(8.6, 0.2 + 3.5 * len(parameters), slim=True) as made:
        all_axes = np.atleast_1d(made.figure.subplots(len(parameters), 1))
        for axes, parameter in zip(all_axes, parameters, strict=True):
            lines = {each.method: each for each in found if each.parameter == parameter}
            title = "by method"
            if len(lines) == 1:
                ((title, alone),) = lines.items()
                lines = by_family(runs, alone)
            points = {name: curve.points for name, curve in lines.items()}
            style.draw_curves(
                axes,
                {name: (each["value"], each["gap"]) for name, each in points.items()},
                list(lines)[: style.MOST_CURVES],
                {name: each["spread"] for name, each in points.items()},
            )
            axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
            style.percent_axis(axes.yaxis)
            title = cut_middle(style.one_row(title), 80)
            axes.set(xlabel=parameter, ylabel="mean gap", title=title)
            grey = len(lines) - style.MOST_CURVES
            more = f"{grey} more, grey" if grey > 0 else None
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=2.6, title=more)
    return made
