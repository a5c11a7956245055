"""Policies over the rates of arrivals: latency and goodput, and latency against throughput."""

from typing import Any

import pandas as pd

from reports.figures import figure_parts
from serving.slo import Slo

#: Columns in panels, with their titles.
_PANELS = {"p99_ttft_ms": "p99 TTFT (s)", "p99_tpot_ms": "p99 TPOT (s)"}
#: Makes points hollow.
_BURST = {"color": "w", "mec": figure_parts.INK, "ms": 3.5, "label": "burst", "zorder": 3}


def rates_figure(table: pd.DataFrame, slo: Slo | None, title: str) -> figure_parts.Drawing:
    """Return the mean latency over the rate, and right of it goodput, or without an SLO mean TTFT.

    The table has rows of ``serving.rate_sweep.rate_sweep``; seeds are averaged, bars show their
    standard deviation. The shade is beyond every schedule. Bursts are hollow.
    """
    table = table.assign(mean_ttft_s=table["mean_ttft_ms"].astype(float) / 1000)
    groups = table.groupby(["method", "rate"], sort=True)
    means = groups.mean(numeric_only=True).reset_index()
    spreads = groups.std(numeric_only=True).reset_index()
    bursts = means[groups["sustained"].min().isin([False]).to_numpy()]
    order = means.groupby("method")["ael_s"].mean().sort_values().index.tolist()
    of_method, shown_names = dict(tuple(means.groupby("method"))), figure_parts.with_base(order)

    with figure_parts.drawing(10.2, 4.2) as made:
        left, right = panels = made.figure.subplots(1, 2)
        figure_parts.add_title(made.figure, title)
        bound = means.groupby("rate")["bound_ael_s"].max().dropna()
        if len(bound):
            _shade(left, bound, 1e-9)
            most = max(float(means["ael_s"].astype(float).max()), float(bound.max()))
            left.set_ylim(0.6 * float(bound.min()), 1.5 * most)
        title, column = "mean TTFT (s)", "mean_ttft_s"
        if slo is not None:
            title, column = f"goodput (requests/s), {slo}", "goodput"
            offered = pd.Series(means["rate"].unique(), means["rate"].unique())
            look = {"color": figure_parts.INK, "alpha": 0.45, "dashes": (1, 1), "linewidth": 1.2}
            right.plot(offered.index, offered, **look, label="offered")
            bound = means.groupby("rate")["bound_goodput"].max().dropna()
            if len(bound):
                # The rates may be far above.
                top = 1.3 * float(bound.max()) or offered.max()
                _shade(right, bound, top)
                right.set_ylim(top=top)
        for axes, shown in ((left, "ael_s"), (right, column)):
            curves = {str(name): (each["rate"], each[shown]) for name, each in of_method.items()}
            bars = {str(name): each[shown] for name, each in spreads.groupby("method")}
            figure_parts.draw_curves(axes, curves, shown_names, bars)
            if len(bursts):
                axes.plot(bursts["rate"], bursts[shown], "o", **_BURST)
            axes.set(xlabel="rate (requests/s)", xlim=(0, None))
        figure_parts.log_axis(left)
        left.set(title="mean end-to-end latency (s)")
        right.set(title=title, ylim=(0, 1.04 * right.get_ylim()[1]))
        figure_parts.add_legend(made.figure, panels, len(order) - len(shown_names))
    return made


def _shade(axes: Any, bound: pd.Series, end: float) -> None:
    """Draw a bound over the rates, and shade the side that no schedule reaches."""
    y = bound.to_numpy(dtype=float)
    look = {"color": figure_parts.INK, "marker": "s", "markersize": 3, "linewidth": 1.4}
    axes.plot(bound.index, y, **look, label="no schedule is beyond")
    axes.fill_between(bound.index, y, end, color=figure_parts.INK, alpha=0.1, linewidth=0)


def pareto_figure(runs: pd.DataFrame, title: str) -> figure_parts.Drawing:
    """Return p99 TTFT and p99 TPOT over the output throughput; a burst is a hollow point."""
    names = list(dict.fromkeys(runs["method"]))
    shown = figure_parts.with_base(names)
    runs = runs.sort_values("rate")
    with figure_parts.drawing(10.2, 4.0) as made:
        panels = made.figure.subplots(1, len(_PANELS))
        figure_parts.add_title(made.figure, title)
        for axes, (column, name) in zip(panels, _PANELS.items(), strict=True):
            seconds = runs[column].astype(float) / 1000
            groups = runs.assign(seconds=seconds).groupby("method", sort=False)
            curves = {str(k): (each["output_throughput"], each["seconds"]) for k, each in groups}
            figure_parts.draw_curves(axes, {each: curves[each] for each in names}, shown)
            if (bursts := runs["sustained"].isin([False])).any():
                axes.plot(runs["output_throughput"][bursts], seconds[bursts], "o", **_BURST)
            figure_parts.log_axis(axes)
            axes.set(title=name, xlabel="output tokens a second", xlim=(0, None))
        figure_parts.add_legend(made.figure, panels[:1], len(names) - len(shown))
    return made
