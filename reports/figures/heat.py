"""Overview: the mean gap to OPT of every method on every family."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.colors import PowerNorm

from reports.figures.style import INK, drawing, short_name

#: Lines and columns of the overview; more are in the table.
MOST_METHODS, MOST_FAMILIES = 40, 24


def heat_figure(runs: pd.DataFrame) -> str | None:
    """Return a map of the penalised mean gap to OPT (a run without schedule counts as 100 %)."""
    known = runs[runs["known"]]
    if known.empty:
        return None
    table = (
        known.assign(gap=known["gap_opt"].fillna(1.0).astype(float))
        .groupby(["label", "family"])["gap"]
        .mean()
        .unstack()
    )
    means = table.mean(axis=1).to_dict()
    order = sorted(table.index, key=lambda name: (means[name], name))
    families = sorted(table.columns)[:MOST_FAMILIES]
    table = table.loc[order[:MOST_METHODS], families]
    width, height = 0.72 * len(families) + 3.4, 0.27 * len(table) + 1.7
    with drawing(max(width, 5.0), max(height, 2.4)) as made:
        axes = made.figure.subplots()
        shown = (100 * table).rename(index=short_name, columns=short_name)
        sns.heatmap(
            shown,
            ax=axes,
            annot=True,
            fmt=".1f",
            annot_kws={"fontsize": 7.5},
            cmap=sns.color_palette("rocket_r", as_cmap=True),
            norm=PowerNorm(0.5, vmin=0, vmax=100),
            cbar=False,
            linewidths=0.6,
            linecolor="none",
        )
        axes.grid(visible=False)
        axes.set_xlabel("")
        axes.set_ylabel("")
        axes.tick_params(length=0, colors=INK)
        axes.set_title("mean gap to OPT, %", loc="left")
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right")
        for label in axes.get_yticklabels():
            label.set_rotation(0)
    return made.svg
