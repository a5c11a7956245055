"""The 99th percentile of the latency against the throughput, one curve a policy over the rates."""

from __future__ import annotations

import pandas as pd

from reports.figures.style import MOST_CURVES, add_legend, draw_rates, drawing, styles

#: What is drawn, with what it is called.
_PANELS = {"p99_ttft_ms": "p99 TTFT (s)", "p99_tpot_ms": "p99 TPOT (s)"}


def pareto_figure(runs: pd.DataFrame) -> str:
    """Return p99 TTFT and p99 TPOT over the output tokens a second, as SVG.

    Further right and lower is better; a rate is a point.

    Parameters
    ----------
    runs
        Of ``kvopt.sweeps.capacity.capacity``: columns ``method``, ``rate``, ``output_throughput``,
        ``p99_ttft_ms`` and ``p99_tpot_ms``.
    """
    names = list(dict.fromkeys(runs["method"]))
    looks = styles(names[:MOST_CURVES])
    with drawing(10.2, 4.0) as made:
        for axes, (column, title) in zip(
            made.figure.subplots(1, len(_PANELS)), _PANELS.items(), strict=True
        ):
            for name, look in looks.items():
                curve = runs[runs["method"].eq(name)].sort_values("rate")
                draw_rates(axes, curve["output_throughput"], curve[column] / 1000, name, look)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_title(title, loc="left")
            axes.set_xlabel("output tokens a second")
            axes.set_xlim(left=0)
        add_legend(made.figure, made.figure.axes[0], others=0)
    return made.svg
