"""Empirical distribution of the gaps: one panel per reference, never two references in one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.figures.style import MOST_CURVES, add_legend, draw_curves, drawing, percent_axis

_POINTS = 200
_PANELS = (
    ("gap_opt", "OPT known: gap to OPT"),
    ("gap_upper", "OPT open: gap to the best schedule"),
    ("gap_lower", "OPT open: gap to the best bound"),
)


def ecdf_figure(runs: pd.DataFrame) -> str | None:
    """Return the share of runs with at most a gap, per method; runs without schedule never count.

    Coloured are the methods with the largest mean share, at most ten, the same in all panels.
    """
    chosen = [
        (column, title, part) for column, title in _PANELS if len(part := _part(runs, column))
    ]
    if not chosen:
        return None
    largest = max(float(part[column].max()) for column, _, part in chosen)
    grid = np.concatenate(([0.0], np.geomspace(1e-4, max(largest, 1e-3), _POINTS)))
    panels = [
        (
            title,
            {str(label): _shares(group[column], grid) for label, group in part.groupby("label")},
        )
        for column, title, part in chosen
    ]
    names = {name for _, curves in panels for name in curves}
    score = {
        name: float(np.mean([curves[name].mean() for _, curves in panels if name in curves]))
        for name in names
    }
    order = sorted(names, key=lambda name: (-score[name], name))
    shown = order[:MOST_CURVES]
    with drawing(3.2 * len(panels) + 3.4, 3.9) as made:
        all_axes = np.atleast_1d(made.figure.subplots(1, len(panels), sharey=True))
        for axes, (title, curves) in zip(all_axes, panels, strict=True):
            draw_curves(axes, grid, curves, shown)
            axes.set_xscale("symlog", linthresh=0.01, linscale=0.5)
            axes.set_xlim(0, grid[-1])
            axes.set_xticks([t for t in (0, 0.01, 0.03, 0.1, 0.3, 1) if t <= grid[-1]])
            axes.minorticks_off()
            percent_axis(axes.xaxis)
            axes.set_title(title, loc="left")
            axes.set_xlabel("gap")
        all_axes[0].set_ylim(-0.02, 1.02)
        percent_axis(all_axes[0].yaxis)
        all_axes[0].set_ylabel("share of runs")
        fullest = max(all_axes, key=lambda axes: len(axes.get_legend_handles_labels()[0]))
        add_legend(made.figure, fullest, len(order) - len(shown))
    return made.svg


def _part(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    part = runs[runs["known"]] if column == "gap_opt" else runs[~runs["known"]]
    return part if part[column].notna().any() else part.iloc[:0]


def _shares(gaps: pd.Series, grid: np.ndarray) -> np.ndarray:
    # Below 0 are only policies that preempt; they are at most every gap that is drawn.
    values = np.sort(gaps.dropna().to_numpy(dtype=float))
    return np.searchsorted(values, grid * (1 + 1e-12), side="right") / len(gaps)
