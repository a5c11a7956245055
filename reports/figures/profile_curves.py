"""Dolan–Moré performance profiles."""

import numpy as np

from reports.figures import figure_parts
from reports.formulas import profile
from reports.profiles import SharedCosts

_POINTS = 160


def profile_figure(
    common: SharedCosts, quantity: str, least_range: float = 1.5
) -> figure_parts.Drawing | None:
    """Return the profiles over a logarithmic axis of τ, None without anything to compare.

    The methods with the largest area under their curve are coloured, at most ten. The ratios are
    of a ``quantity``, as in "TEL"; the axis goes up to τ = ``least_range`` at least.
    """
    if common.costs.shape[1] < 2 or common.costs.isna().all(axis=None) or common.costs.empty:
        return None
    ratios = common.ratios
    finite = ratios.to_numpy()[np.isfinite(ratios.to_numpy())]
    end = max(least_range, float(np.quantile(finite, 0.995)) * 1.05)
    taus = np.geomspace(1.0, end, _POINTS)
    values = profile(ratios, list(taus))
    areas = values.mean()
    order = sorted(values.columns, key=lambda name: (-areas[name], name))
    shown = order[: figure_parts.MOST_CURVES]
    with figure_parts.drawing(8.6, 4.2, slim=True) as made:
        axes = made.figure.subplots()
        curves = {name: (taus, values[name].to_numpy()) for name in order}
        figure_parts.draw_curves(axes, curves, shown, steps=True)
        axes.set(xscale="log", xlim=(1.0, end))
        label = f"τ: {quantity} at most τ times the best"
        axes.set(ylim=(-0.02, 1.02), xlabel=label, ylabel="share of instances")
        axes.minorticks_off()
        figure_parts.percent_axis(axes.yaxis)
        figure_parts.add_legend(made.figure, [axes], len(order) - len(shown))
    return made
