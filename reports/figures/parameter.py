"""The mean gap against a parameter: a panel for each family or trace."""

from typing import Any

import pandas as pd

from reports.figures import figure_parts
from reports.parameter_curves import BLIND, Panel
from serving.answer import BASE
from support.message_text import cut_middle

MOST_PANELS = 60
_GAP = {"gap_low": "mean gap"}
#: Columns of runs in seconds, with their titles.
_IN_SECONDS = {
    "gap_low": "mean latency: gap",
    "p99_ttft_ms": "p99 TTFT (s)",
    "goodput": "goodput (requests / s)",
}


def parameter_figure(panels: list[Panel]) -> figure_parts.Drawing | None:
    """Return the curves, None without any; a row a family, in seconds also one a parameter."""
    rows: dict[tuple[str, str], list[tuple[Panel, str, str]]] = {}
    for panel in panels[:MOST_PANELS]:
        in_seconds = bool(panel.runs["in_seconds"].any())
        row = rows.setdefault((panel.family, panel.parameter if in_seconds else ""), [])
        row += [(panel, *each) for each in (_IN_SECONDS if in_seconds else _GAP).items()]
    if not rows:
        return None
    wide = max(map(len, rows.values()))
    policies = pd.concat([each.runs for each in panels]).groupby("policy")["gap_low"].mean()
    names = policies.sort_values().index.tolist()
    shown = names[: figure_parts.MOST_CURVES]
    with figure_parts.drawing(2.6 + 3.2 * wide, 0.3 + 2.7 * len(rows), slim=True) as made:
        grid = made.figure.subplots(len(rows), wide, squeeze=False)
        for axes_of_row, row in zip(grid, rows.values(), strict=True):
            for axes in axes_of_row[len(row) :]:
                axes.set_visible(False)
            for axes, cell in zip(axes_of_row, row, strict=False):
                _draw(axes, *cell, names, shown)
        figure_parts.add_legend(made.figure, [grid[0, 0]], len(names) - len(shown))
    return made


def _draw(
    axes: Any, panel: Panel, column: str, title: str, names: list[str], shown: list[str]
) -> None:
    """Draw one column: curves, the interval of each gap, and the best of the other classes."""
    points, is_gap = panel.points(column).reindex(columns=names), column == "gap_low"
    curves = {name: (points.index, points[name]) for name in names}
    bars = None
    if is_gap and not panel.of_prediction:
        spreads = panel.spreads().reindex(columns=names)
        bars = {name: spreads[name] for name in names}
    figure_parts.draw_curves(axes, curves, shown, bars)
    most = panel.points("gap_high").reindex(columns=names).astype(float)
    for name, style in figure_parts.styles(shown).items() if is_gap else ():
        band = {"color": style["color"], "alpha": 0.12, "linewidth": 0}
        axes.fill_between(points.index, points[name].astype(float), most[name], **band)
    labels = {knows: str(runs["label"].iloc[0]) for knows, runs in panel.best.items()}
    for knows, label in labels.items():
        if knows == BASE and label == labels.get(BLIND):
            continue
        level = panel.level(knows, column)
        look = {"color": figure_parts.INK, "alpha": 0.7, "linewidth": 1.0}
        axes.axhline(level, dashes=(4, 2) if knows == BLIND else (1, 1), **look)
        text = label if label.startswith(knows) else f"{knows}: {label}"
        text = cut_middle(figure_parts.one_row(text), 40)
        x, side = {BLIND: (0.02, "left"), BASE: (0.57, "center")}.get(knows, (0.98, "right"))
        place = {"xycoords": ("axes fraction", "data"), "fontsize": 8, "va": "bottom", "ha": side}
        axes.annotate(text, (x, level), **place)
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    if is_gap:
        figure_parts.percent_axis(axes.yaxis)
    elif column.endswith("_ms"):
        axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}")
    name = cut_middle(figure_parts.one_row(panel.family), 40)
    axes.set(xlabel=panel.parameter, ylabel=title, title=name)
