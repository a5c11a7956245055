"""One look for all figures: SVG that is readable on light and dark pages and never changes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext, LogLocator, MaxNLocator, NullFormatter

from kvopt.answer import BASE
from reports.figures.slim import slimmed
from reports.figures.spots import Caption, Spot, placed
from schedules.picture import THEME

#: Curves with a colour of their own; the others are drawn in grey and stand in the table.
MOST_CURVES = 10
#: Stands for the page's own text colour until the SVG is written.
INK = "#010203"
#: Tones of the middle, at least 3:1 against white and against the dark ground alike.
COLOURS = (
    "#2f7fc1",
    "#c9601a",
    "#2a9060",
    "#b8568f",
    "#8f7a1c",
    "#7f6bc9",
    "#c24b4b",
    "#1f8f9c",
    "#7d7d7d",
    "#a3692e",
)
#: Three to ten colours: neighbours in the circle of colours differ in dashes too.
_DASHES = ("", (4, 1.5), (1, 1))
_LONGEST_NAME = 34
#: Reach of a point that has no extent of its own, CSS pixels.
_POINT = 14.0

_STYLE: dict[str, Any] = {
    "text.parse_math": False,  # Names may hold dollar signs.
    "svg.hashsalt": "kvopt",
    "svg.fonttype": "path",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": INK,
    "grid.alpha": 0.14,
    "grid.linewidth": 0.8,
    "font.family": "DejaVu Sans",  # Comes with matplotlib, so it is the same everywhere.
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
}


class Drawing:
    """A figure while it is drawn; ``svg`` and ``spots`` hold it and its places afterwards.

    Attributes
    ----------
    reach
        How far from a place the pointer may be, across and down, CSS pixels.
    """

    def __init__(self, width: float, height: float) -> None:
        self.figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self.figure)
        self.svg = ""
        self.spots: tuple[Spot, ...] = ()
        self.reach = (_POINT, _POINT)
        self._pending: list[tuple[Any, float, float, Caption]] = []

    def tell(self, axes: Any, x: float, y: float, caption: Caption) -> None:
        """Say what stands at a place of some axes, in their data."""
        self._pending.append((axes, x, y, caption))

    def finish(self) -> None:
        """Fill ``svg`` and ``spots``: layout and limits are final now."""
        for axis in (axis for axes in self.figure.axes for axis in (axes.xaxis, axes.yaxis)):
            if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
                _plain_numbers(axis)
        stream = io.StringIO()
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        self.figure.savefig(stream, format="svg", metadata=metadata)
        self.svg = _themed(stream.getvalue())
        self.spots = placed(self.figure, self._pending)


@contextmanager
def drawing(width: float, height: float, *, slim: bool = False) -> Iterator[Drawing]:
    """Draw within the common style; on leaving, ``svg`` is filled.

    Parameters
    ----------
    width, height
        Inches.
    slim
        Whether letters are text in the SVG instead of shapes, in the reader's own font, and
        nothing is written twice (:func:`reports.figures.slim.slimmed`): a fifth of the bytes, for
        pages of many figures.
    """
    style = sns.axes_style("ticks") | sns.plotting_context("paper") | _STYLE
    if slim:
        style = style | {"svg.fonttype": "none"}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # A letter of a name which the font lacks becomes a box; that is no news to the reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        made = Drawing(width, height)
        yield made
        made.finish()
        if slim:
            made.svg = slimmed(made.svg)


def _themed(svg: str) -> str:
    # Drawn text is shapes; what matplotlib says of it in comments is nobody's business.
    start = svg.index("<svg")
    body = "\n".join(line for line in svg[start:].splitlines() if "<!--" not in line)
    body = body.replace(INK, "currentColor")
    head = body.index(">") + 1
    return f"{body[:head]}\n<style>{THEME}</style>{body[head:]}\n"


def short_name(name: str) -> str:
    """Return a name that fits a legend, on one line."""
    flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return flat if len(flat) <= _LONGEST_NAME else flat[: _LONGEST_NAME - 1] + "…"


def styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour and dashes of each curve, by its place in the sequence."""
    return {
        name: {"color": COLOURS[k % len(COLOURS)], "dashes": _DASHES[k % len(_DASHES)]}
        for k, name in enumerate(names)
    }


def draw_curves(axes: Any, x: np.ndarray, curves: dict[str, np.ndarray], shown: list[str]) -> None:
    """Draw step curves over a common grid; those not in ``shown`` in thin grey behind."""
    steps = {name: (x, y) for name, y in curves.items()}
    _draw(axes, steps, shown, {"drawstyle": "steps-post"}, linewidth=1.8)


def with_base(names: Sequence[str]) -> list[str]:
    """Return the names that get curves of their own, in order after what all are compared with."""
    return sorted(names, key=lambda name: name != BASE)[:MOST_CURVES]


def draw_points(
    axes: Any, curves: Mapping[str, tuple[pd.Series, pd.Series]], shown: Sequence[str]
) -> None:
    """Draw curves through the points that they are of, as :func:`draw_curves` draws steps."""
    points = {name: (x, y.astype(float)) for name, (x, y) in curves.items()}
    _draw(axes, points, shown, {}, marker="o", markersize=3.5, linewidth=1.7)


def _draw(
    axes: Any,
    curves: Mapping[str, tuple[Any, Any]],
    shown: Sequence[str],
    every: Mapping[str, Any],
    **look: Any,
) -> None:
    """Draw the curves that are not shown in thin grey, then the others with a look and a name."""
    for name, points in curves.items():
        if name not in shown:
            axes.plot(*points, color=INK, alpha=0.16, linewidth=0.8, **every)
    for name, style in styles(shown).items():
        if name in curves:
            own = {"color": style["color"], "dashes": style["dashes"] or (None, None)}
            axes.plot(*curves[name], **own, **every, **look, label=short_name(name))


def add_legend(figure: Any, panels: Sequence[Any], others: int) -> None:
    """Put the legend of all panels beside them, with the number of grey curves as its last line."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if others:
        (grey,) = panels[0].plot([], [], color=INK, alpha=0.3, linewidth=0.8)
        handles[f"{others} more, see the table"] = grey
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside right upper", handlelength=2.6)


def log_axis(axes: Any) -> None:
    """Have y on a logarithmic scale in plain numbers, where it is more than a factor of two."""
    values = np.concatenate([[], *(line.get_ydata() for line in axes.get_lines())])
    values = values[values > 0]
    if not len(values) or values.max() < 2 * values.min():
        return
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)


def _plain_numbers(axis: Any) -> None:
    """Have a logarithmic axis tell numbers as they are, for markup of powers is not read."""
    low, high = sorted(axis.get_view_interval())
    wide = np.log10(high / low)
    subs = range(1, 10) if wide < 1 else (1, 2, 5) if wide < 3 else (1,)
    axis.set_major_locator(MaxNLocator(5) if wide < 0.5 else LogLocator(subs=subs))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def percent_axis(axis: Any) -> None:
    """Write shares as percent."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
