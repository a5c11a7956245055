"""Empirical distribution of the gaps: one panel per reference, never two references in one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.figures import style

_POINTS = 200
#: Instances below which a distribution says nothing and has no panel.
LEAST_INSTANCES = 3
#: Share of a panel's instances below which a policy has no curve: it would be another panel's.
LEAST_RUN = 0.5
_PANELS = (
    ("gap_opt", "OPT known: gap to OPT"),
    ("gap_upper", "OPT open: gap to the best schedule"),
    ("gap_lower", "OPT open: gap to the best bound"),
)


def ecdf_figure(runs: pd.DataFrame) -> style.Drawing | None:
    """Return the share of runs with at most a gap, per policy; runs without schedule never count.

    Coloured are those with the largest mean share, at most ten, the same in all panels.
    """
    runs = runs[~runs["engine"]]
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
    shown, others = _shown(panels, [part["id"].nunique() for _, _, part in chosen])
    # One below the other, as wide as the page, so that ten lines can be told apart.
    with style.drawing(8.6, 0.3 + 3.7 * len(panels), slim=True) as made:
        all_axes = np.atleast_1d(made.figure.subplots(len(panels), 1, sharey=True))
        for axes, (title, curves) in zip(all_axes, panels, strict=True):
            steps = {name: (grid, curve) for name, curve in curves.items()}
            style.draw_curves(axes, steps, shown, steps=True)
            axes.set_xscale("symlog", linthresh=0.01, linscale=0.5)
            axes.set_xlim(0, grid[-1])
            axes.set_xticks([t for t in (0, 0.01, 0.03, 0.1, 0.3, 1) if t <= grid[-1]])
            style.percent_axis(axes.xaxis)
            style.share_axes(axes, title, "gap", "share of runs")
        fullest = max(all_axes, key=lambda axes: len(axes.get_legend_handles_labels()[0]))
        style.add_legend(made.figure, [fullest], others)
    return made


_Panels = list[tuple[str, dict[str, np.ndarray]]]


def _shown(panels: _Panels, weights: list[int]) -> tuple[list[str], int]:
    """Return the policies that are coloured, how many are not; panels count by instances."""
    names = {name for _, curves in panels for name in curves}
    score = dict.fromkeys(names, 0.0)
    for (_, curves), weight in zip(panels, weights, strict=True):
        for name, curve in curves.items():
            score[name] += weight * float(curve.mean())
    order = sorted(names, key=lambda name: (-score[name], name))
    shown = order[: style.MOST_CURVES]
    return shown, len(order) - len(shown)


def _part(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    part = runs[~runs["unbounded"] & runs["known"].eq(column == "gap_opt")]
    instances = part.loc[part[column].notna(), "id"].nunique()
    run = part.groupby("label")["id"].transform("nunique")
    # Some may be run by a few policies only; those are in the tables.
    part = part[run >= LEAST_RUN * part["id"].nunique()]
    return part if instances >= LEAST_INSTANCES else part.iloc[:0]


def _shares(gaps: pd.Series, grid: np.ndarray) -> np.ndarray:
    values = np.sort(gaps.dropna().to_numpy(dtype=float))
    return np.searchsorted(values, grid * (1 + 1e-12), side="right") / len(gaps)
