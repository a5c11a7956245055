"""Latency and goodput against the rate of arrivals, above what no schedule can be better than."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from reports.figures.style import INK, MOST_CURVES, draw_rates, drawing, styles
from schedules.real_time.slo import Slo

_BOUND = "#c24b4b"


def rates_figure(table: pd.DataFrame, slo: Slo | None = None) -> str:
    """Return the mean latency over the rate, and beside it goodput or else TTFT, as SVG.

    Parameters
    ----------
    table
        The rows of methods of ``kvopt.sweeps.rates.rate_sweep``; seeds are averaged.
    slo
        What goodput counts by; without one the right panel shows the mean TTFT.
    """
    means = table.groupby(["method", "rate"], sort=True).mean(numeric_only=True).reset_index()
    order = means.groupby("method")["ael_s"].mean().sort_values().index.tolist()
    looks = styles(order[:MOST_CURVES])
    with drawing(10.2, 4.0) as made:
        left, right = made.figure.subplots(1, 2)
        _bound(left, means)
        right_column = "mean_ttft_s"
        means[right_column] = means["mean_ttft_ms"].astype(float) / 1000
        if "goodput" in means:
            right_column = "goodput"
            rates = sorted(means["rate"].unique())
            right.plot(
                rates, rates, color=INK, alpha=0.45, dashes=(1, 1), linewidth=1.2, label="offered"
            )
        for name, look in looks.items():
            curve = means[means["method"] == name]
            for axes, column in ((left, "ael_s"), (right, right_column)):
                draw_rates(axes, curve["rate"], curve[column], name, look)
        left.set_yscale("log")
        left.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        left.yaxis.set_minor_formatter(NullFormatter())
        left.set_title("mean end-to-end latency (s)", loc="left")
        told = f"goodput (requests/s), {slo}" if "goodput" in means else "mean TTFT (s)"
        right.set_title(told, loc="left")
        for axes in (left, right):
            axes.set_xlabel("rate (requests/s)")
            axes.set_xlim(left=0)
        right.set_ylim(bottom=0)
        _legend(made.figure, left, right)
    return made.svg


def _bound(axes: Any, means: pd.DataFrame) -> None:
    """Draw what no schedule's mean latency is below, and shade what is."""
    bound = means.groupby("rate")["bound_ael_s"].max().dropna()
    if bound.empty:
        return
    x, y = bound.index.to_numpy(dtype=float), bound.to_numpy(dtype=float)
    axes.plot(
        x, y, color=_BOUND, marker="s", markersize=3, linewidth=1.4, label="no schedule is below"
    )
    axes.fill_between(x, np.full(len(y), 1e-9), y, color=_BOUND, alpha=0.13, linewidth=0)
    most = float(means["ael_s"].astype(float).max(skipna=True))
    axes.set_ylim(0.6 * float(y.min()), 1.5 * max(most, float(y.max())))


def _legend(figure: Any, left: Any, right: Any) -> None:
    handles: dict[str, Any] = {}
    for axes in (left, right):
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside right upper", handlelength=2.6)
