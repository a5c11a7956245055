"""The mean gap against a parameter, one panel a parameter."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.figures import figure_parts
from reports.parameter_curves import by_family, curves
from support.message_text import cut_middle

MOST_PANELS = 6


def parameter_figure(runs: pd.DataFrame) -> figure_parts.Drawing | None:
    """Return the curves of :func:`reports.parameter_curves.curves`, None without any.

    A line is a family, or a method where several have the parameter.
    """
    found = curves(runs)
    parameters = list(dict.fromkeys(each.parameter for each in found))[:MOST_PANELS]
    if not found:
        return None
    with figure_parts.drawing(8.6, 0.2 + 3.5 * len(parameters), slim=True) as made:
        all_axes = np.atleast_1d(made.figure.subplots(len(parameters), 1))
        for axes, parameter in zip(all_axes, parameters, strict=True):
            lines = {each.method: each for each in found if each.parameter == parameter}
            title = "by method"
            if len(lines) == 1:
                ((title, alone),) = lines.items()
                lines = by_family(runs, alone)
            points = {name: curve.points for name, curve in lines.items()}
            figure_parts.draw_curves(
                axes,
                {name: (each["value"], each["gap"]) for name, each in points.items()},
                list(lines)[: figure_parts.MOST_CURVES],
                {name: each["spread"] for name, each in points.items()},
            )
            axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
            figure_parts.percent_axis(axes.yaxis)
            title = cut_middle(figure_parts.one_row(title), 80)
            axes.set(xlabel=parameter, ylabel="mean gap", title=title)
            grey = len(lines) - figure_parts.MOST_CURVES
            more = f"{grey} more, grey" if grey > 0 else None
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=2.6, title=more)
    return made
