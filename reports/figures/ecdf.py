"""Empirical distribution of the gaps: one panel per reference, never two references in one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.figures.style import MOST_CURVES, add_legend, draw_curves, drawing, percent_axis

_POINTS = 200
#: Instances below which a distribution says nothing and has no panel.
LEAST_INSTANCES = 3
#: Of the coloured curves at most so many are of engines: policies are what is compared here.
_MOST_ENGINES = 3
_PANELS = (
    ("gap_opt", "OPT known: gap to OPT"),
    ("gap_upper", "OPT open: gap to the best schedule"),
    ("gap_lower", "OPT open: gap to the best bound"),
)


def ecdf_figure(runs: pd.DataFrame) -> str | None:
    """Return the share of runs with at most a gap, per method; runs without schedule never count.

    Coloured are the methods with the largest mean share, at most ten of which three are engines,
    the same in all panels.
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
    shown, others = _shown(panels, [len(part) for _, _, part in chosen], _engines(runs))
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
        add_legend(made.figure, fullest, others)
    return made.svg


_Panels = list[tuple[str, dict[str, np.ndarray]]]


def _shown(panels: _Panels, weights: list[int], engines: set[str]) -> tuple[list[str], int]:
    """Return the methods that are coloured, and how many are not; panels count by their runs."""
    names = {name for _, curves in panels for name in curves}
    score = dict.fromkeys(names, 0.0)
    for (_, curves), weight in zip(panels, weights, strict=True):
        for name, curve in curves.items():
            score[name] += weight * float(curve.mean())
    order = sorted(names, key=lambda name: (-score[name], name))
    best_engines = [name for name in order if name in engines][:_MOST_ENGINES]
    candidates = [name for name in order if name not in engines or name in best_engines]
    shown = candidates[:MOST_CURVES]
    return shown, len(order) - len(shown)


def _engines(runs: pd.DataFrame) -> set[str]:
    return set(runs.loc[runs["engine"], "label"])


def _part(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    part = runs[runs["known"]] if column == "gap_opt" else runs[~runs["known"]]
    enough = part.loc[part[column].notna(), "id"].nunique() >= LEAST_INSTANCES
    return part if enough else part.iloc[:0]


def _shares(gaps: pd.Series, grid: np.ndarray) -> np.ndarray:
    # Below 0 are only policies that preempt; they are at most every gap that is drawn.
    values = np.sort(gaps.dropna().to_numpy(dtype=float))
    return np.searchsorted(values, grid * (1 + 1e-12), side="right") / len(gaps)
