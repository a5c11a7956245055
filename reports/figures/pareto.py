"""The 99th percentile of the latency against the throughput, one curve a policy over the rates."""

from __future__ import annotations

import pandas as pd

from reports.figures.style import (
    Drawing,
    add_legend,
    add_title,
    draw_points,
    drawing,
    log_axis,
    with_base,
)

#: What is drawn, with what it is called.
_PANELS = {"p99_ttft_ms": "p99 TTFT (s)", "p99_tpot_ms": "p99 TPOT (s)"}


def pareto_figure(runs: pd.DataFrame, title: str) -> Drawing:
    """Return p99 TTFT and p99 TPOT over the output tokens a second.

    Further right and lower is better; a rate is a point.

    Parameters
    ----------
    runs
        Of ``kvopt.sweeps.capacity.capacity``: columns ``method``, ``rate``, ``output_throughput``,
        ``p99_ttft_ms`` and ``p99_tpot_ms``.
    title
        The trace, the model and its GPUs.
    """
    names = list(dict.fromkeys(runs["method"]))
    shown = with_base(names)
    runs = runs.sort_values("rate")
    with drawing(10.2, 4.0) as made:
        panels = made.figure.subplots(1, len(_PANELS))
        add_title(made.figure, title)
        for axes, (column, told) in zip(panels, _PANELS.items(), strict=True):
            seconds = runs[column].astype(float) / 1000
            here = {name: runs["method"].eq(name) for name in names}
            curves = {
                name: (runs.loc[those, "output_throughput"], seconds[those])
                for name, those in here.items()
            }
            draw_points(axes, curves, shown)
            log_axis(axes)
            axes.set_title(told, loc="left")
            axes.set_xlabel("output tokens a second")
            axes.set_xlim(left=0)
        add_legend(made.figure, panels[:1], len(names) - len(shown))
    return made
