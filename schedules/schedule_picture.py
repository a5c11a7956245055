"""The picture of one schedule: memory over time, stacked by request, under a line at M."""

import math
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from instances.instance import Instance
from instances.time_unit import NANOSECONDS, ROUNDS
from schedules.clock.timeline import Ints, Timeline, make_timeline
from schedules.gap import gap
from schedules.schedule import Schedule
from schedules.schedule_metrics import (
    MemoryHolding,
    MemoryProfile,
    holdings,
    memory_profile,
    running_and_waiting,
)
from support.figure_files import image, own_style
from support.json_files import write_bytes
from support.message_text import cut_middle
from support.output_checks import PICTURES

#: Up to this many requests each has a separate colour; above, requests of like length share one.
FEW_REQUESTS = 12
#: Most columns that are drawn; longer horizons are resampled.  The axes are about as wide.
COLUMNS = 1300

#: Above this many corners the areas of an SVG become an embedded image.
_VECTOR_CORNERS = 12_000
#: Beyond this, two rounds are one floating-point number of matplotlib.
_LAST_ROUND = 2**53
#: Up to this many holdings each is an area; above, all of one colour are one band.
MANY_AREAS = 200
_COLOURS = 8
_DPI = 150
#: In a notebook, dots per inch.
_SHOWN_DPI = 80
#: Ink and ground, which an SVG takes from the page's scheme; on coloured areas ink stays as it is.
_INK, _GROUND, _ON_AREA = "#262626", "#fefefe", "0.1"
_HATCH = "////"
_LIMIT = "#de3c5a"
#: Colours of the counts below the memory, and of memory that is not stacked.
_RUNNING, _WAITING, _MEMORY = "#2a9060", "#c9601a", "#2f7fc1"
#: Ink and ground of all SVG, as of the pages that show them.
THEME = (
    "svg{color:#24292f;background:#ffffff}"
    "@media (prefers-color-scheme:dark){svg{color:#d7dbe0;background:#1e2029}}"
)
_GREY: dict[str, Any] = {"facecolor": "0.82", "edgecolor": "white"}
_QUIET: dict[str, Any] = {"loc": "left", "fontsize": 10, "color": _INK, "alpha": 0.8}
#: Names and colours of the areas.
_Key = list[tuple[str, Any]]

_STYLE: dict[str, Any] = {
    "hatch.linewidth": 0.7,
    # A PNG has an opaque ground, so that its ink is readable on a dark page.
    "figure.facecolor": _GROUND,
    "axes.facecolor": _GROUND,
    "savefig.facecolor": _GROUND,
    "savefig.transparent": False,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK
    ),
}


def picture_of(instance: Instance, schedule: Schedule) -> Figure:
    """Return the tokens held over time, stacked by request, as a figure that is shown nowhere yet.

    In rounds, the tokens held at time t are drawn as a step over (t - 1, t], the round that ends
    then: a request started at p covers exactly [p, p + o], and no slanted edge shows an amount that
    is never held.  A horizon of more rounds than the picture has columns is resampled: each column
    shows the time in it at which most is held, so peaks are kept and every column is a true moment.
    In seconds each column shows the most of the rounds that it touches, of all requests together.

    Raises ValueError if the schedule is not of the right shape (``schedules.schedule_metrics``), or
    the times are too large to draw.
    """
    stack = _stacked(instance, schedule)
    with _styled():
        figure = _new_figure(6.2)
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        _add_titles(figure, instance, [schedule], [stack])
        axes.set_title(_subtitle(instance, schedule), **_QUIET)
        _add_frame(axes, instance, stack)
        below.set_xlabel(stack.label)
        axes.set_xlabel("")
        _draw_counts(below, stack)
        _draw_areas(figure, axes, instance, stack)
    return figure


def pair_picture(instance: Instance, first: Schedule, second: Schedule) -> Figure:
    """Return two schedules of one instance, one above the other over the same axes.

    Raises ValueError as :func:`picture_of` does.
    """
    both = (first, second)
    stacks = [_stacked(instance, each) for each in both]
    with _styled():
        figure = _new_figure(6.6)
        rows = figure.subplots(2, 1, sharex=True, sharey=True)
        _add_titles(figure, instance, both, stacks)
        # What the axes share is set last, by the one that needs most room.
        for axes, schedule, stack in sorted(
            zip(rows, both, stacks, strict=True), key=lambda row: row[2].tokens.max()
        ):
            _add_frame(axes, instance, stack)
            words = f"{cut_middle(schedule.method, 80)}:   {_subtitle(instance, schedule)}"
            axes.set_title(words, **_QUIET | {"fontsize": min(10.0, 1150 / len(words))})
        ends = [(stack.edges[0], stack.edges[-1]) for stack in stacks]
        rows[0].set(xlabel="", xlim=(min(ends)[0], max(end for _, end in ends)))
        for axes, stack in zip(rows, stacks, strict=True):
            _draw_areas(figure, axes, instance, stack, key=axes is rows[0])
    return figure


def save_picture(figure: Figure, path: str | Path) -> None:
    """Write a figure of :func:`picture_of` as SVG, PNG or PDF, and replace a file there at once.

    Raises ValueError if the path ends otherwise, OSError if the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in PICTURES:
        raise ValueError(f"picture {str(path)!r}: expected a name with {' or '.join(PICTURES)}")
    write_bytes(path, picture_image(figure, suffix.removeprefix(".")))


def show_picture(figure: Figure) -> None:
    """Show a figure of :func:`picture_of` in a notebook; elsewhere do nothing."""
    # A notebook has loaded both; neither is a dependency.
    display = sys.modules.get("IPython.display")
    if "ipykernel" not in sys.modules or display is None:
        return
    display.display(display.Image(picture_image(figure, "png", _SHOWN_DPI)))


def picture_image(figure: Figure, kind: str, dpi: int = _DPI) -> bytes:
    """Return a figure of :func:`picture_of` as ``svg``, ``png`` or ``pdf``."""
    with _styled():
        made = image(figure, kind, dpi)
    if kind != "svg":
        return made
    head, opened, body = made.decode().partition("<svg")
    tag, closed, drawing = body.partition(">")
    drawing = drawing.replace(_INK, "currentColor").replace(_GROUND, "none")
    return "".join((head, opened, tag, closed, f"<style>{THEME}</style>", drawing)).encode()


def _styled() -> AbstractContextManager[None]:
    return own_style(sns.axes_style("ticks") | sns.plotting_context("notebook") | _STYLE)


def _new_figure(height: float) -> Figure:
    figure = Figure(figsize=(10.0, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True)
class _Area:
    """One holding as steps: from column ``first`` on, between ``bottom`` and ``top`` (tokens)."""

    holding: MemoryHolding
    first: int
    bottom: NDArray[np.float64]
    top: NDArray[np.float64]


@dataclass(frozen=True)
class _Stack:
    """Areas from the bottom up, none in seconds; ``edges`` (columns + 1,) in rounds or seconds."""

    edges: NDArray[np.float64]
    areas: list[_Area]
    tokens: NDArray[Any]
    running: Ints
    waiting: Ints
    label: str = "time (rounds)"


def _stacked(instance: Instance, schedule: Schedule) -> _Stack:
    if schedule.clock is not None:
        return _over_seconds(make_timeline(instance, schedule))
    begin = min(*schedule.starts, *(int(request.arrival) for request in instance.requests))
    profile = memory_profile(instance, schedule)
    end = profile.times[-1]
    if end > _LAST_ROUND:
        raise ValueError(f"schedule ends after round {_LAST_ROUND}, too late to draw")
    edges, moments = _columns(profile, begin, end)
    level = np.zeros(len(moments))
    areas = []
    for each in sorted(holdings(instance, schedule), key=lambda each: (each.start, each.position)):
        first, last = np.searchsorted(moments, (each.start, each.start + each.tokens), side="right")
        if first == last:
            continue
        bottom = level[first:last].copy()
        level[first:last] += each.prompt + (moments[first:last] - each.start)
        areas.append(_Area(each, int(first), bottom, level[first:last].copy()))
    counts = running_and_waiting(instance, schedule, moments)
    return _Stack(edges.astype(float), areas, level, *counts)


def _over_seconds(found: Timeline) -> _Stack:
    rounds = found.rounds
    first = min(int(found.arrivals.min()), int(rounds.begins[0]))
    edges = np.linspace(first, int(rounds.ends[-1]), COLUMNS + 1)
    low = np.searchsorted(rounds.ends, edges[:-1], side="right")
    high = np.searchsorted(rounds.begins, edges[1:], side="left")
    pairs = np.ravel(np.column_stack((low, np.maximum(low, high))))
    # With a last value that no column has, a pair may end behind the last round.
    tokens, running, waiting = (
        np.where(high > low, np.maximum.reduceat(np.append(values, 0), pairs)[::2], 0)
        for values in (rounds.tokens, rounds.running, rounds.waiting)
    )
    after = "" if first == 0 else f", from {first / NANOSECONDS:,.3f} s on"
    label = f"time (seconds{after})"
    return _Stack((edges - first) / NANOSECONDS, [], tokens, running, waiting, label)


def _columns(
    profile: MemoryProfile, begin: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns' edges and the integer time that each of them shows."""
    horizon = end - begin
    columns = min(horizon, COLUMNS)
    edges = np.array([begin + horizon * k // columns for k in range(columns + 1)], dtype=np.int64)
    if columns == horizon:
        return edges, edges[1:]
    # Within a piece the tokens never fall, so a column's peak is at a breakpoint or at its end.
    times = np.union1d(np.array(profile.times, dtype=np.int64), edges[1:])
    times = times[(times > begin) & (times <= end)]
    tokens = np.interp(times, profile.times, profile.tokens)
    column = np.searchsorted(edges[1:], times, side="left")
    order = np.lexsort((times, -tokens, column))
    first_of_column = np.searchsorted(column[order], np.arange(columns))
    return edges, times[order][first_of_column]


def _draw_counts(axes: Any, stack: _Stack) -> None:
    """Draw how many requests run and how many wait."""
    running, waiting = stack.running, stack.waiting
    for values, colour, label in ((running, _RUNNING, "running"), (waiting, _WAITING, "waiting")):
        axes.stairs(values, stack.edges, color=colour, linewidth=1.4, label=label, baseline=None)
    most = max(1, int(running.max()), int(waiting.max()))
    axes.set(ylim=(0, 1.15 * most), ylabel="requests")
    axes.yaxis.set_major_locator(_whole_numbers(4))
    axes.yaxis.set_major_formatter(FuncFormatter(_with_commas))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right", ncols=2, fontsize=9, frameon=False)


def _draw_areas(
    figure: Any, axes: Any, instance: Instance, stack: _Stack, *, key: bool = True
) -> None:
    """Draw the tokens held, with a key to the colours if that is asked for."""
    if not stack.areas:
        axes.stairs(stack.tokens, stack.edges, fill=True, color=_MEMORY, alpha=0.55)
        return
    few = len(instance.requests) <= FEW_REQUESTS
    title, colours = (_draw_few if few else _draw_many)(figure, axes, instance, stack)
    if key and colours:
        edge = _ON_AREA if few else "none"
        handles = [Patch(facecolor=c, edgecolor=edge, label=t) for t, c in colours[::-1]]
        look = {"fontsize": 9, "title_fontsize": 9, "frameon": False}
        figure.legend(handles=handles, loc="outside right center", title=title, **look)


def _add_titles(
    figure: Any, instance: Instance, schedules: Sequence[Schedule], stacks: Sequence[_Stack]
) -> None:
    """Write instance and methods above a picture, and how cancelled attempts are drawn."""
    methods = cut_middle(" above ".join(each.method for each in schedules), 130)
    text = f"{cut_middle(instance.name, 48)}: {methods}"
    shown = figure.suptitle(text, x=0.012, ha="left", fontsize=13, fontweight="bold", color=_INK)
    renderer = figure.canvas.get_renderer()
    room = 0.975 * figure.bbox.width
    if any(area.holding.cancelled for each in stacks for area in each.areas):
        few = len(instance.requests) <= FEW_REQUESTS
        look = {"facecolor": "0.9", "edgecolor": _ON_AREA, "hatch": _HATCH} if few else _GREY
        key = [Patch(label="cancelled attempt", **look)]
        legend = figure.legend(handles=key, loc="upper right", fontsize=9, frameon=False)
        room -= 1.2 * legend.get_window_extent(renderer).width
    width = shown.get_window_extent(renderer).width
    if width > room:
        shown.set_fontsize(13 * room / width)


def _subtitle(instance: Instance, schedule: Schedule) -> str:
    n, unit = len(instance.requests), instance.unit
    mean = schedule.tel / n / unit.ticks
    parts = [
        f"n = {n:,}",
        f"TEL {unit.number(schedule.tel, ',')}{unit.symbol or ' rounds'}",
        f"AEL {mean:,.{max(unit.digits, 1)}f}{unit.symbol}",
    ]
    bound = schedule.lower_bound
    if schedule.easier:
        # No bound is about such a schedule, so it has no gap either.
        parts.append(schedule.easier)
    elif schedule.status == "optimal":
        parts.append("optimal")
    elif bound is not None and schedule.tel > 0:
        shown = f"{unit.number(bound, ',')}{unit.symbol}"
        parts.append(f"lower bound {shown} (gap {100 * gap(schedule.tel, bound):.2f} %)")
    return "   ".join(parts)


def _add_frame(axes: Any, instance: Instance, stack: _Stack) -> None:
    memory, peak = instance.memory, int(stack.tokens.max())
    axes.set(xlim=(stack.edges[0], stack.edges[-1]), xlabel=stack.label)
    axes.set_ylabel("KV memory held (tokens)")
    # Rounds are written out in full, so large ones leave room for fewer of them.
    for axis, most in ((axes.xaxis, 8 if stack.edges[-1] < 10**7 else 4), (axes.yaxis, 8)):
        whole = axis is axes.yaxis or instance.unit is ROUNDS
        axis.set_major_locator(_whole_numbers(most) if whole else MaxNLocator(most))
        axis.set_major_formatter(FuncFormatter(_with_commas))
    axes.spines[["top", "right"]].set_visible(False)
    if 10 * peak >= memory:
        axes.set_ylim(0, 1.1 * max(memory, peak))
        axes.axhline(memory, color=_LIMIT, linewidth=1.4, linestyle=(0, (6, 3)), zorder=5)
        height, text = float(memory), f"M = {memory:,} tokens"
    else:
        # Under a line at M, which is ten times higher, the areas would be a smear on the ground.
        axes.set_ylim(0, 1.2 * peak)
        height, text = 1.1 * peak, f"M = {memory:,} tokens, above this axis; peak {peak:,}"
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    look = {"ha": "right", "va": "bottom", "color": _LIMIT, "fontsize": 9.5, "zorder": 6}
    axes.annotate(text, (1.0, height), (0, 3), **place, **look)


def _draw_few(figure: Any, axes: Any, instance: Instance, stack: _Stack) -> tuple[str, _Key]:
    """Draw each request in a separate colour, with its id inside, and return what has no room."""
    palette = sns.color_palette("Set3", FEW_REQUESTS)
    colours = {f"id {each.id}": c for each, c in zip(instance.requests, palette, strict=False)}
    names = [f"id {instance.requests[area.holding.position].id}" for area in stack.areas]
    corners = [_corners(stack, area) for area in stack.areas]
    for cancelled in (False, True):
        chosen = [k for k, area in enumerate(stack.areas) if area.holding.cancelled == cancelled]
        if chosen:
            look = {"hatch": _HATCH, "linewidths": 0.4} if cancelled else {"linewidths": 0.7}
            facecolors = [colours[names[k]] for k in chosen]
            _add_outlines(axes, [corners[k] for k in chosen], facecolors, _ON_AREA, **look)
    figure.draw_without_rendering()  # Settles the layout, which decides what fits.
    for name, area in zip(names, stack.areas, strict=True):
        if _add_label(axes, stack, area, name):
            colours.pop(name, None)
    return "no room inside", list(colours.items())


def _add_label(axes: Any, stack: _Stack, area: _Area, text: str) -> bool:
    """Write a text amid the places where the area is high enough for it; False if there is none."""
    box = axes.get_window_extent()
    edges = stack.edges
    column_pixels = box.width / (len(edges) - 1)
    token_pixels = box.height / axes.get_ylim()[1]
    for size in (10.0, 8.0, 6.5):
        pixels = size * _DPI / 72
        columns = math.ceil(0.75 * pixels * len(text) / column_pixels)
        if columns > len(area.top):
            continue
        roof = np.lib.stride_tricks.sliding_window_view(area.top, columns).min(axis=1)
        floor = np.lib.stride_tricks.sliding_window_view(area.bottom, columns).max(axis=1)
        room = roof - floor
        if room.max() * token_pixels < 1.25 * pixels:
            continue
        best = np.flatnonzero(room >= min(0.9 * room.max(), 2.5 * pixels / token_pixels))
        place = int(best[len(best) // 2])
        left, right = edges[area.first + place], edges[area.first + place + columns]
        look = {"ha": "center", "va": "center_baseline", "fontsize": size, "color": _ON_AREA}
        if area.holding.cancelled:
            look["bbox"] = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        axes.text((left + right) / 2, (floor[place] + roof[place]) / 2, text, **look)
        return True
    return False


def _draw_many(_: Any, axes: Any, instance: Instance, stack: _Stack) -> tuple[str, _Key]:
    """Draw requests of like output length, or else of like start, in one colour; return which."""
    outputs = np.array([instance.requests[a.holding.position].output for a in stack.areas])
    by_output = outputs.min() < outputs.max()
    values = outputs if by_output else np.array([a.holding.start for a in stack.areas])
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, _COLOURS + 1)[1:-1], method="higher"))
    band = np.searchsorted(cuts, values, side="right")
    # Among many, hatches would be all that is seen.
    cancelled = len(cuts) + 1
    drawn = np.where([area.holding.cancelled for area in stack.areas], cancelled, band)
    colours = [*sns.color_palette("viridis", cancelled), _GREY["facecolor"]]
    if len(stack.areas) <= MANY_AREAS:
        outlines = [_corners(stack, area) for area in stack.areas]
        facecolors = [colours[of] for of in drawn]
        _add_outlines(axes, outlines, facecolors, "white", linewidths=0.4)
    else:
        held = np.zeros((cancelled + 1, len(stack.edges) - 1))
        for area, of in zip(stack.areas, drawn, strict=True):
            held[of, area.first : area.first + len(area.top)] += area.top - area.bottom
        outlines = [
            _steps(stack.edges, top - own, top)
            for top, own in zip(held.cumsum(axis=0), held, strict=True)
        ]
        # Without edges, smoothing would let the ground shine through between two bands.
        _add_outlines(axes, outlines, colours, "none", antialiaseds=False)
    named = [(_range(values[band == k]), colours[k]) for k in range(cancelled) if (band == k).any()]
    return "output o (tokens)" if by_output else "start p (round)", named


def _add_outlines(
    axes: Any, outlines: list[NDArray[np.float64]], facecolors: list[Any], edge: str, **look: Any
) -> None:
    image = sum(map(len, outlines)) > _VECTOR_CORNERS
    look |= {"facecolors": facecolors, "edgecolors": edge, "rasterized": image}
    axes.add_collection(PolyCollection(outlines, **look), autolim=False)


def _range(values: NDArray[np.int64]) -> str:
    """Return the least and the greatest value, one number where they are one."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _corners(stack: _Stack, area: _Area) -> NDArray[np.float64]:
    """Return the outline of an area as steps, shape (4 · columns, 2): rounds and tokens."""
    edges = stack.edges[area.first : area.first + len(area.top) + 1]
    return _steps(edges, area.bottom, area.top)


def _steps(
    edges: NDArray[np.float64], bottom: NDArray[np.float64], top: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the outline between two step functions over columns with these edges."""
    x = np.repeat(edges, 2)[1:-1]
    y = np.concatenate((bottom.repeat(2), top[::-1].repeat(2)))
    return np.column_stack((np.concatenate((x, x[::-1])), y))


def _whole_numbers(most: int) -> MaxNLocator:
    return MaxNLocator(nbins=most, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


def _with_commas(value: float, _: object) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,g}"
