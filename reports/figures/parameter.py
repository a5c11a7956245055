"""The mean gap against a parameter: a panel for each family or trace."""

from typing import Any

import pandas as pd

from reports.figures import figure_parts
from reports.parameter_curves import BLIND, CLAIRVOYANT, Panel
from serving.answer import BASE
from support.message_text import cut_middle

MOST_PANELS = 60
#: Columns of runs with their titles; all but the first are of runs in seconds.
_TITLES = {"gap_low": "mean gap", "p99_ttft_ms": "p99 TTFT (s)", "goodput": "goodput (requests/s)"}
#: Dashes of the horizontal lines.
_DASHES = {BLIND: (4, 2), CLAIRVOYANT: (1, 1), BASE: (5, 1, 1, 1)}
#: Most characters of a line's name, and of a title by the panels of its row.
_LONGEST_NAME, _LONGEST_TITLE = 18, 32
#: Share of an axis below a line that has room for its name.
_LEAST_BELOW = 0.15


def parameter_figure(panels: list[Panel]) -> figure_parts.Drawing | None:
    """Return the curves, None without any; a row a family, in seconds also one a parameter."""
    rows: dict[tuple[str, str], list[tuple[Panel, str]]] = {}
    for panel in panels[:MOST_PANELS]:
        in_seconds = bool(panel.runs["in_seconds"].any())
        row = rows.setdefault((panel.family, panel.parameter if in_seconds else ""), [])
        row += [(panel, each) for each in (_TITLES if in_seconds else ["gap_low"])]
    if not rows:
        return None
    wide = max(map(len, rows.values()))
    policies = pd.concat([each.runs for each in panels]).groupby("policy")["gap_low"].mean()
    names = policies.sort_values().index.tolist()
    shown = names[: figure_parts.MOST_CURVES]
    with figure_parts.drawing(2.6 + 3.2 * wide, 0.3 + 2.7 * len(rows), slim=True) as made:
        grid = made.figure.subplots(len(rows), wide, squeeze=False)
        for axes_of_row, ((family, _), row) in zip(grid, rows.items(), strict=True):
            title = cut_middle(figure_parts.one_row(family), _LONGEST_TITLE * len(row))
            axes_of_row[0].set(title=title)
            for axes in axes_of_row[len(row) :]:
                axes.set_visible(False)
            for axes, cell in zip(axes_of_row, row, strict=False):
                _draw(axes, *cell, names, shown)
        figure_parts.add_legend(made.figure, [grid[0, 0]], len(names) - len(shown))
    return made


def _draw(axes: Any, panel: Panel, column: str, names: list[str], shown: list[str]) -> None:
    """Draw one column: curves, the interval of each gap, and the best of the other classes."""
    is_gap, scale = column == "gap_low", 1e-3 if column.endswith("_ms") else 1.0
    points = scale * panel.points(column).reindex(columns=names).astype(float)
    curves = {name: (points.index, points[name]) for name in names}
    spreads = panel.spreads["spread"].unstack("policy").reindex(columns=names)
    bars = {name: spreads[name] for name in names} if is_gap else None
    figure_parts.draw_curves(axes, curves, shown, bars)
    most = panel.points("gap_high").reindex(columns=names).astype(float)
    for name, style in figure_parts.styles(shown).items() if is_gap else ():
        band = {"color": style["color"], "alpha": 0.12, "linewidth": 0}
        axes.fill_between(points.index, points[name], most[name], **band)
    best = {knows: str(runs["label"].iloc[0]) for knows, runs in panel.best.items()}
    levels = sorted(
        (scale * panel.level(knows, column), label, _DASHES[knows])
        for knows, label in best.items()
        if knows != BASE or label != best.get(BLIND)
    )
    for level, _, dashes in levels:
        axes.axhline(level, dashes=dashes, color=figure_parts.INK, alpha=0.7, linewidth=1.0)
    if column.endswith("_ms"):
        figure_parts.log_axis(axes)
    if axes.get_yscale() == "linear":
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    if is_gap:
        figure_parts.percent_axis(axes.yaxis)
    # No two names are at one place of lines that are close; the lowest stands below its line.
    to_axes = axes.transData + axes.transAxes.inverted()
    for place, (level, label, _) in enumerate(levels):
        below = not place and to_axes.transform((1.0, level))[1] > _LEAST_BELOW
        text = cut_middle(figure_parts.one_row(label), _LONGEST_NAME)
        x, side = ((0.02, "left"), (0.98, "right"), (0.5, "center"))[place]
        look = {"fontsize": 8, "ha": side, "va": "top" if below else "bottom"}
        axes.annotate(text, (x, level), xycoords=("axes fraction", "data"), **look)
    axes.set(xlabel=panel.parameter, ylabel=_TITLES[column])
