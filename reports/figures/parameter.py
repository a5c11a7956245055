"""The mean gap against a parameter, one panel a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reports.figures import style
from reports.swept import Curve, by_family, curves
from support.text import cut_middle

MOST_PANELS = 6


def parameter_figure(runs: pd.DataFrame) -> style.Drawing | None:
    """Return the curves of :func:`reports.swept.curves`: of one method a line a family.

    Where several methods have the parameter, a line is a method.
    """
    found = curves(runs)
    panels = {
        parameter: [each for each in found if each.parameter == parameter]
        for parameter in dict.fromkeys(each.parameter for each in found)
    }
    if not panels:
        return None
    chosen = list(panels.items())[:MOST_PANELS]
    with style.drawing(8.6, 0.2 + 3.5 * len(chosen), slim=True) as made:
        all_axes = np.atleast_1d(made.figure.subplots(len(chosen), 1))
        for axes, (parameter, drawn) in zip(all_axes, chosen, strict=True):
            alone = drawn[0].method if len(drawn) == 1 else ""
            lines = by_family(runs, drawn[0]) if alone else {each.method: each for each in drawn}
            _panel(axes, parameter, alone, lines)
    return made


def _panel(axes: Any, parameter: str, alone: str, lines: dict[str, Curve]) -> None:
    shown = list(lines)[: style.MOST_CURVES]
    points = {name: curve.points for name, curve in lines.items()}
    style.draw_curves(
        axes,
        {name: (each["value"], each["gap"]) for name, each in points.items()},
        shown,
        {name: each["spread"] for name, each in points.items()},
    )
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    style.percent_axis(axes.yaxis)
    axes.set(
        xlabel=parameter,
        ylabel="mean gap",
        title=cut_middle(style.one_row(alone or "by method"), 80),
    )
    more = f"{len(lines) - len(shown)} more, grey" if len(lines) > len(shown) else None
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=2.6, title=more)
