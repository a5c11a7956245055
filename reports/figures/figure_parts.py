"""One look for all figures: SVG that is readable on light and dark pages and never changes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext, LogLocator, MaxNLocator, NullFormatter

from schedules.schedule_picture import THEME
from serving.answer import BASE
from support.figure_files import image, own_style
from support.message_text import cut_middle
from support.output_checks import describe_error
from support.usage_errors import complain

#: Coloured curves; the others are drawn in grey and stand in the table.
MOST_CURVES = 10
#: Stands for the page's text colour until the SVG is written.
INK = "#010203"
#: Tones of the middle, at least 3:1 against white and against the dark ground alike.
COLOURS = (
    *("#2f7fc1", "#c9601a", "#2a9060", "#b8568f", "#8f7a1c"),
    *("#7f6bc9", "#c24b4b", "#1f8f9c", "#7d7d7d", "#a3692e"),
)
#: Marks of points, as many as there are colours.
_MARKERS = "osD^vP*X<>"
#: Three to ten colours: neighbours in the circle of colours differ in dashes too.
_DASHES = ("", (4, 1.5), (1, 1))
#: A line of the legend, and how many a name may take.
_LONGEST_NAME, _MOST_LINES = 34, 4
#: The custom file in a label: ``mine(beta=2) [folder/mine.py]``, or ``file:mine.py``.
_PATH = re.compile(r"(?<=\[)[^\[\]]*(?=\](?: \*)?$)|(?<=^file:).*\.py|(?<=^file:)[^(]*")
#: Further characters on the line of a path.
_BESIDE_PATH = 6
#: Pieces of a label, which may be broken at blanks and behind commas.
_PARTS = re.compile(r"[^\s,]+[\s,]*|[\s,]+")
#: A reader who lacks a font gets one whose letters are as wide.
_FONTS = ("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
#: Dots an inch of a PNG, twice what a screen shows.
_DPI = 200

_GROUNDS = ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor")
_INKED = (
    *("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "grid.color"),
    *("xtick.color", "ytick.color", "xtick.labelcolor", "ytick.labelcolor"),
)
_STYLE: dict[str, Any] = {
    "svg.fonttype": "path",
    **dict.fromkeys(_GROUNDS, "none"),
    **dict.fromkeys(_INKED, INK),
    "grid.alpha": 0.14,
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
}


class Drawing:
    """A figure while it is drawn, and then as ``svg``."""

    def __init__(self, width: float, height: float) -> None:
        self.figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self.figure)
        self.svg = ""

    def finish(self) -> None:
        """Fill ``svg``: layout and limits are final now."""
        for axis in (axis for axes in self.figure.axes for axis in (axes.xaxis, axes.yaxis)):
            if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
                _plain_numbers(axis)
        self.svg = _themed(image(self.figure, "svg").decode())

    def image(self, kind: str) -> bytes:
        """Return the figure on white, as ``svg``, ``png`` or ``pdf``."""
        if kind == "svg":
            return self.svg.encode()
        with own_style(_style() | {"savefig.facecolor": "white"}):
            return image(self.figure, kind, _DPI)


@contextmanager
def drawing(width: float, height: float, *, slim: bool = False) -> Iterator[Drawing]:
    """Draw within the common style, in inches; on leaving, ``svg`` is filled.

    With ``slim``, letters are text in the reader's font instead of shapes, in fewer bytes.
    """
    with own_style(_style() | ({"svg.fonttype": "none"} if slim else {})):
        made = Drawing(width, height)
        yield made
        made.finish()


def try_drawing(what: str, draw: Callable[[], Drawing | None]) -> Drawing | None:
    """Return a drawing; None, and one line on standard error, where a library fails on it."""
    try:
        return draw()
    except Exception as error:
        complain(what, f"could not be drawn: {describe_error(error)}")
        return None


def _style() -> dict[str, Any]:
    style: dict[str, Any] = sns.axes_style("ticks") | sns.plotting_context("paper") | _STYLE
    return style


def _themed(svg: str) -> str:
    # Drawn text is shapes; matplotlib's comments on it go.
    start = svg.index("<svg")
    body = "\n".join(line for line in svg[start:].splitlines() if "<!--" not in line)
    body = body.replace(INK, "currentColor").replace(*_FONTS)
    head = body.index(">") + 1
    return f"{body[:head]}\n<style>{THEME}</style>{body[head:]}\n"


def size_of(svg: str) -> tuple[int, int]:
    """Return width and height of a picture in CSS pixels; a point has 4/3 of them."""
    ((width, height),) = re.findall(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg)[:1]
    return round(float(width) * 4 / 3), round(float(height) * 4 / 3)


def short_name(name: str, width: int = _LONGEST_NAME) -> str:
    """Return a name in lines of about a width: a path is cut in its middle, parameters are not."""
    text = _PATH.sub(lambda path: cut_middle(path[0], width - _BESIDE_PATH), one_row(name))
    lines = [""]
    for part in _PARTS.findall(text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += cut_middle(part, 2 * width)
    kept = lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]
    return "\n".join(line.strip() for line in kept)


def one_row(name: str) -> str:
    """Return a name without what would break a line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


def styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour and dashes of each curve, by its place in the sequence."""
    return {
        name: {"color": COLOURS[k % len(COLOURS)], "dashes": _DASHES[k % len(_DASHES)]}
        for k, name in enumerate(names)
    }


def draw_curves(
    axes: Any,
    curves: Mapping[str, tuple[Any, Any]],
    shown: Sequence[str],
    spreads: Mapping[str, pd.Series] | None = None,
    *,
    steps: bool = False,
) -> None:
    """Draw curves through points or as steps; all but the ``shown`` in thin grey behind.

    Each is narrower than the one below it, so curves that lie on each other are all seen.
    ``spreads`` are half of the length of a bar at each point.
    """
    every = {"drawstyle": "steps-post"} if steps else {}
    for name in (each for each in curves if each not in shown):
        axes.plot(*curves[name], color=INK, alpha=0.16, linewidth=0.8, **every)
    for place, (name, style) in enumerate(styles(shown).items()):
        above = len(shown) - 1 - place
        look = {**every, "color": style["color"], "dashes": style["dashes"] or (None, None)}
        if not steps:
            look |= {"marker": _MARKERS[place], "markersize": 4 + 0.3 * above}
        axes.plot(*curves[name], **look, linewidth=1.6 + 0.2 * above, label=short_name(name))
        if spreads and spreads[name].notna().any():
            bars = {"fmt": "none", "ecolor": style["color"], "elinewidth": 1.2, "capsize": 2.5}
            axes.errorbar(*curves[name], yerr=spreads[name].astype(float).to_numpy(), **bars)


def with_base(names: Sequence[str]) -> list[str]:
    """Return the names of the coloured curves, in order after the policy that all compare with."""
    return sorted(names, key=lambda name: name != BASE)[:MOST_CURVES]


def add_legend(figure: Any, panels: Sequence[Any], others: int) -> None:
    """Put the legend of all panels next to them; its last line counts the grey curves."""
    handles: dict[str, Any] = {}
    for axes in panels:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)) | handles
    if others:
        (grey,) = panels[0].plot([], [], color=INK, alpha=0.3, linewidth=0.8)
        handles[f"{others} more, see the table"] = grey
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside right upper", handlelength=2.6)


def add_title(figure: Any, title: str) -> None:
    """Write a title above all panels."""
    figure.suptitle(cut_middle(one_row(title), 120), x=0.01, ha="left", fontsize=11)


def log_axis(axes: Any) -> None:
    """Have y on a logarithmic scale in plain numbers, where it is more than a factor of two."""
    values = np.concatenate([[], *(line.get_ydata() for line in axes.get_lines())])
    values = values[values > 0]
    if len(values) and values.max() >= 2 * values.min():
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)


def _plain_numbers(axis: Any) -> None:
    """Write plain numbers at a logarithmic axis, without markup of powers."""
    low, high = sorted(axis.get_view_interval())
    wide = np.log10(high / low)
    subs = range(1, 10) if wide < 1 else (1, 2, 5) if wide < 3 else (1,)
    axis.set_major_locator(MaxNLocator(5) if wide < 0.5 else LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def percent_axis(axis: Any) -> None:
    """Write shares as percent."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
