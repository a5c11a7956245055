"""Overview: the mean gap of every method on every family, open instances too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import PowerNorm

from reports.figures.style import INK, Drawing, drawing, one_row, short_name
from reports.per_instance import whole_mean
from reports.units import is_adversarial
from support.text import cut_middle

#: Lines and columns of the overview; more are in the table.
MOST_METHODS, MOST_FAMILIES = 40, 24
#: Characters of a line of a method's name, which may take two, and of a family's.
_WIDTH, _FAMILY = 48, 34
#: What the bound leaves open is drawn from here on, a share.
LEAST_OPEN = 0.0005
HEAT_NOTE = (
    "Shade and number: mean gap to the best known schedule, %, over the instances of the family; a "
    "run without schedule counts as 100 %. Bar: what the bound leaves open, so that the gap to OPT "
    "is at most the number plus the bar, whose full width is 100 %. Empty: not run there. Policies "
    "first, by the mean of their line, those run on fewer families after all others; then solvers. "
    "Methods marked * solve an easier problem, which is all open. Adversarial families stand last "
    "and count in no mean."
)


def heat_figure(averaged: pd.DataFrame) -> Drawing | None:
    """Return a map of the mean gaps of methods (lines) on families (columns).

    ``averaged`` is from :func:`reports.per_instance.per_instance`.
    """
    if averaged.empty:
        return None
    cells = _cells(averaged)
    low = cells["gap_low"].unstack()
    engines = averaged.groupby("label")["engine"].first()
    # A mean over other families is another mean.
    families = sorted(low.columns, key=lambda family: (is_adversarial(family), family))
    judged = low[[each for each in families if not is_adversarial(each)] or families]
    means, absent = judged.mean(axis=1).fillna(1.0), judged.isna().sum(axis=1)
    order = sorted(low.index, key=lambda name: (engines[name], absent[name] > 0, means[name], name))
    low = low.loc[order[:MOST_METHODS], families[:MOST_FAMILIES]]
    high = cells["gap_high"].unstack().reindex(index=low.index, columns=low.columns)
    names = {name: short_name(str(name), _WIDTH) for name in low.index}
    longest = max(len(line) for name in names.values() for line in name.split("\n"))
    width, height = 0.72 * low.shape[1] + max(3.4, 0.085 * longest + 0.8), 0.34 * len(low) + 1.7
    with drawing(max(width, 5.0), max(height, 2.4), slim=True) as made:
        axes = made.figure.subplots()
        sns.heatmap(
            (100 * low).rename(index=names, columns=_families(low.columns)),
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
        _draw_open(axes, low.to_numpy(), high.to_numpy())
        axes.grid(visible=False)
        axes.set(xlabel="", ylabel="")
        axes.tick_params(length=0, colors=INK)
        # A reader of the first lines sees what the columns are.
        axes.xaxis.tick_top()
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="left")
        for label in axes.get_yticklabels():
            label.set_rotation(0)
    return made


def _families(names: Iterable[str]) -> dict[str, str]:
    """Return what each column is called: without the batch time, where all have the same."""
    parted = {name: name.partition(", ") for name in names}
    alike = len({batch_time for *_, batch_time in parted.values()}) == 1
    return {
        name: cut_middle(one_row(parts[0] if alike else name), _FAMILY)
        for name, parts in parted.items()
    }


def _cells(averaged: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gaps of each method and family.

    One instance without a bound, and the mean's upper end is unknown.
    """
    groups = averaged.groupby(["label", "family"], sort=True)
    cells = pd.DataFrame(
        {"gap_low": groups["gap_low"].mean(), "gap_high": whole_mean(groups["gap_high"])}
    )
    return cells.astype(float)


def _draw_open(axes: Any, low: np.ndarray, high: np.ndarray) -> None:
    """Draw a bar at the foot of each cell whose gap to OPT is not known."""
    left = np.nan_to_num(np.clip(high - low, 0.0, 1.0), nan=0.0)
    # Without a bound all may be open.
    left[np.isnan(high) & ~np.isnan(low)] = 1.0
    lines, columns = np.nonzero(left >= LEAST_OPEN)
    width = left[lines, columns]
    axes.barh(lines + 0.88, width * 0.94, height=0.14, left=columns + 0.03, color="#3f8fd2", lw=0.4)
