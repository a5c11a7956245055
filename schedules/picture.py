"""The picture of one schedule: memory over time, stacked by request, under a line at M."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from instances.model import Instance
from instances.time_unit import NANOSECONDS, ROUNDS
from schedules.clock.timeline import Ints, Timeline, timeline
from schedules.counts import running_and_waiting
from schedules.gap import gap
from schedules.metrics import Holding, MemoryProfile, holdings, memory_profile
from schedules.model import Schedule
from support.drawing import image, own_style
from support.jsonfile import write_bytes
from support.outputs import PICTURES
from support.text import cut_middle

#: Up to this many requests each has a colour of its own; above, the colour is a quantity.
FEW_REQUESTS = 12
#: Most columns that are drawn; longer horizons are resampled.  The axes are about as wide.
COLUMNS = 1300

#: Above this many corners the areas of an SVG become an embedded image.
_VECTOR_CORNERS = 12_000
#: Beyond this, matplotlib's floating-point numbers no longer tell rounds apart.
_LAST_ROUND = 2**53
#: Up to this many holdings each is seen by itself; above, those of like length are one band.
MANY_AREAS = 200
_BANDS = 8
_SIZE = (10.0, 6.2)
_PAIR_SIZE = (10.0, 6.6)
_DPI = 150
#: In a notebook, dots per inch.
_SHOWN_DPI = 80
#: Ink and ground, which an SVG takes from the page's scheme; on coloured areas ink stays as it is.
_INK, _GROUND, _ON_AREA = "#262626", "#fefefe", "0.1"
_HATCH = "////"
_LIMIT = "#de3c5a"
#: Colours of the counts below the memory, and of memory that is not stacked.
_RUNNING, _WAITING, _MEMORY = "#2a9060", "#c9601a", "#2f7fc1"
#: Ink and ground of all SVG, those of the pages that show them.
THEME = (
    "svg{color:#24292f;background:#ffffff}"
    "@media (prefers-color-scheme:dark){svg{color:#d7dbe0;background:#1e2029}}"
)
_GREY: dict[str, Any] = {"facecolor": "0.82", "edgecolor": "white"}

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

    In rounds, memory is counted at integer times.  What is held at time t is drawn as a step over
    (t - 1, t], the round that ends then: a request started at p covers exactly [p, p + o], the
    next may begin where it ends, and no slanted edge shows an amount that is never held.

    Requests are stacked by start, the earliest at the bottom, each for itself; of more than
    ``MANY_AREAS`` holdings those of like output length are one band, the shortest at the bottom.
    Cancelled attempts are hatched, among many requests grey.
    A horizon of more rounds than the picture has columns is resampled: each column shows the
    time in it at which most is held, so peaks are kept and every column is a true moment, but a
    request that runs only beside these moments is not seen.

    In seconds each column shows the most of the rounds that it touches, of all requests together.
    Where no round runs nothing is held and nothing runs.

    Raises
    ------
    ValueError
        If the schedule is not of the right shape (``schedules.metrics``), or the times are too
        large to draw.
    """
    stack = _stacked(instance, schedule)
    with picture_style():
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        title, subtitle = (instance.name, schedule.method), _subtitle(instance, schedule)
        add_titles(figure, axes, title, subtitle, cancelled=_cancelled_key(instance, [schedule]))
        _add_frame(axes, instance, stack)
        below.set_xlabel(axes.get_xlabel())
        axes.set_xlabel("")
        _draw_counts(below, stack)
        _draw_areas(figure, axes, instance, stack)
    return figure


def pair_picture(instance: Instance, first: Schedule, second: Schedule) -> Figure:
    """Return two schedules of one instance, one above the other over the same axes.

    Raises
    ------
    ValueError
        As :func:`picture_of` says.
    """
    both = (first, second)
    stacks = [_stacked(instance, each) for each in both]
    with picture_style():
        figure = Figure(figsize=_PAIR_SIZE, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        rows = figure.subplots(2, 1, sharex=True, sharey=True)
        title = (instance.name, f"{first.method} above {second.method}")
        key = _cancelled_key(instance, both)
        add_titles(figure, rows[0], title, "", cancelled=key)
        # What the axes share is set last, by the one that needs most room.
        for axes, schedule, stack in sorted(
            zip(rows, both, stacks, strict=True), key=lambda row: row[2].tokens.max()
        ):
            _add_frame(axes, instance, stack)
            told = f"{cut_middle(schedule.method, 80)}:   {_subtitle(instance, schedule)}"
            axes.set_title(told, loc="left", fontsize=10, color=_INK, alpha=0.8)
        rows[0].set_xlabel("")
        rows[0].set_xlim(
            min(stack.edges[0] for stack in stacks), max(stack.edges[-1] for stack in stacks)
        )
        for axes, stack in zip(rows, stacks, strict=True):
            _draw_areas(figure, axes, instance, stack, key=axes is rows[0])
    return figure


def save_picture(figure: Figure, path: str | Path) -> None:
    """Write a figure of :func:`picture_of` as SVG, PNG or PDF, in place of a file there at once.

    The same figure gives the same file.

    Raises
    ------
    ValueError
        If the path ends otherwise.
    OSError
        If the file cannot be written.
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
    with picture_style():
        made = image(figure, kind, dpi)
    if kind != "svg":
        return made
    head, opened, body = made.decode().partition("<svg")
    tag, closed, drawing = body.partition(">")
    drawing = drawing.replace(_INK, "currentColor").replace(_GROUND, "none")
    return "".join((head, opened, tag, closed, f"<style>{THEME}</style>", drawing)).encode()


@contextmanager
def picture_style() -> Iterator[None]:
    """Draw within the common style of schedules' pictures."""
    style = sns.axes_style("ticks") | sns.plotting_context("notebook") | _STYLE
    with own_style(style):
        yield


@dataclass(frozen=True)
class _Area:
    """One holding as steps: from column ``first`` on, between ``bottom`` and ``top`` (tokens)."""

    holding: Holding
    first: int
    bottom: NDArray[np.float64]
    top: NDArray[np.float64]


@dataclass(frozen=True)
class _Stack:
    """What is drawn over columns between ``edges`` (rounds or seconds, shape (columns + 1,)).

    Attributes
    ----------
    areas
        From the bottom up; in seconds there are none.
    tokens, running, waiting
        What is held in each column, and how many requests run and wait.
    label
        Of the axis of time.
    """

    edges: NDArray[np.float64]
    areas: list[_Area]
    tokens: NDArray[Any]
    running: Ints
    waiting: Ints
    label: str = "time (rounds)"


def _stacked(instance: Instance, schedule: Schedule) -> _Stack:
    if schedule.clock is not None:
        return _over_seconds(timeline(instance, schedule))
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


def _cancelled_key(instance: Instance, schedules: Sequence[Schedule]) -> Patch | None:
    """Return how cancelled attempts are drawn, for the legend; None where there are none."""
    if not any(any(schedule.attempts or ()) for schedule in schedules):
        return None
    few = len(instance.requests) <= FEW_REQUESTS
    look = {"facecolor": "0.9", "edgecolor": _ON_AREA, "hatch": _HATCH} if few else _GREY
    return Patch(label="cancelled attempt", **look)


def _draw_counts(axes: Any, stack: _Stack) -> None:
    """Draw how many requests run and how many wait."""
    running, waiting = stack.running, stack.waiting
    for values, colour, label in ((running, _RUNNING, "running"), (waiting, _WAITING, "waiting")):
        axes.stairs(values, stack.edges, color=colour, linewidth=1.4, label=label, baseline=None)
    axes.set_ylim(0, 1.15 * max(1, int(running.max()), int(waiting.max())))
    axes.set_ylabel("requests")
    axes.yaxis.set_major_locator(_whole_numbers(4))
    axes.yaxis.set_major_formatter(FuncFormatter(_with_commas))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right", ncols=2, fontsize=9, frameon=False)


def _draw_areas(
    figure: Any, axes: Any, instance: Instance, stack: _Stack, *, key: bool = True
) -> None:
    """Draw what is held, with a key to the colours if that is asked for."""
    if not stack.areas:
        axes.stairs(stack.tokens, stack.edges, fill=True, color=_MEMORY, alpha=0.55)
    elif len(instance.requests) <= FEW_REQUESTS:
        _draw_few(figure, axes, instance, stack, key=key)
    elif len(stack.areas) <= MANY_AREAS:
        _draw_many(figure, axes, instance, stack, key=key)
    else:
        _draw_bands(figure, axes, instance, stack, key=key)


def add_titles(
    figure: Any, axes: Any, title: tuple[str, str], subtitle: str, *, cancelled: Patch | None
) -> None:
    """Write instance and method above a picture, what is known of the schedule above its axes."""
    axes.set_title(subtitle, loc="left", fontsize=10, color=_INK, alpha=0.8)
    text = ": ".join(map(cut_middle, title, (48, 130)))
    shown = figure.suptitle(text, x=0.012, ha="left", fontsize=13, fontweight="bold", color=_INK)
    renderer = figure.canvas.get_renderer()
    room = 0.975 * figure.bbox.width
    if cancelled is not None:
        legend = figure.legend(handles=[cancelled], loc="upper right", fontsize=9, frameon=False)
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
        told = f"{unit.number(bound, ',')}{unit.symbol}"
        parts.append(f"lower bound {told} (gap {100 * gap(schedule.tel, bound):.2f} %)")
    return "   ".join(parts)


def _add_frame(axes: Any, instance: Instance, stack: _Stack) -> None:
    memory, peak = instance.memory, int(stack.tokens.max())
    axes.set_xlim(stack.edges[0], stack.edges[-1])
    axes.set_xlabel(stack.label)
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
    label_memory(axes, text, height)


def label_memory(axes: Any, text: str, height: float) -> None:
    """Write what M is at the right end of the axes, above a height (tokens)."""
    axes.annotate(
        text,
        (1.0, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=_LIMIT,
        fontsize=9.5,
        zorder=6,
    )


def _draw_few(
    figure: Any, axes: Any, instance: Instance, stack: _Stack, *, key: bool = True
) -> None:
    """Draw each request in a colour of its own, with its id inside or else in a legend."""
    palette = sns.color_palette("Set3", FEW_REQUESTS)
    colours = dict(zip(range(len(instance.requests)), palette, strict=False))
    _add_areas(axes, stack, [colours[area.holding.position] for area in stack.areas], 0.7, _ON_AREA)
    figure.draw_without_rendering()  # Settles the layout, which decides what fits.
    labelled = set()
    for area in stack.areas:
        text = f"id {instance.requests[area.holding.position].id}"
        if _add_label(axes, stack, area, text):
            labelled.add(area.holding.position)
    handles = [
        Patch(facecolor=colour, edgecolor=_ON_AREA, label=f"id {instance.requests[position].id}")
        for position, colour in colours.items()
        if position not in labelled
    ]
    if handles and key:
        figure.legend(
            handles=handles[::-1],
            loc="outside right center",
            title="no room inside",
            fontsize=9,
            title_fontsize=9,
            frameon=False,
        )


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
        axes.text(
            (left + right) / 2,
            (floor[place] + roof[place]) / 2,
            text,
            ha="center",
            va="center_baseline",
            fontsize=size,
            color=_ON_AREA,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
            if area.holding.cancelled
            else None,
        )
        return True
    return False


def _draw_many(figure: Any, axes: Any, instance: Instance, stack: _Stack, *, key: bool) -> None:
    """Colour the requests by output length, or by start where all outputs are equal."""
    outputs = [request.output for request in instance.requests]
    low, high = min(outputs), max(outputs)
    if low < high:
        values = [instance.requests[area.holding.position].output for area in stack.areas]
        label = "output length o (tokens)"
    else:
        values = [area.holding.start for area in stack.areas]
        low, high = min(values), max(values)
        label = "start p (round)"
    # A few long outputs would leave all others in one shade of a linear scale.
    skewed = low > 0 and high > 5 * float(np.median(values))
    scale = (LogNorm if skewed else Normalize)(low, max(high, low + 1))
    shades = ScalarMappable(scale, sns.color_palette("viridis", as_cmap=True))
    colours = list(shades.to_rgba(np.array(values)))
    # Among many, hatches would be all that is seen.
    grey = [area.holding.cancelled for area in stack.areas]
    colours = [_GREY["facecolor"] if g else c for c, g in zip(colours, grey, strict=True)]
    _add_areas(axes, stack, colours, 0.4, "white", hatched=False)
    if not key:
        return
    bar = figure.colorbar(shades, ax=axes, pad=0.015, fraction=0.05, aspect=28)
    bar.set_label(label, fontsize=10)
    bar.outline.set_visible(False)
    bar.ax.minorticks_off()
    bar.set_ticks(_round_numbers(low, high) if skewed else _whole_numbers(6))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(_with_commas))
    bar.ax.tick_params(labelsize=9)


def _draw_bands(figure: Any, axes: Any, instance: Instance, stack: _Stack, *, key: bool) -> None:
    """Draw the tokens held by requests of like output length, or of like start, as bands."""
    outputs = np.array([instance.requests[a.holding.position].output for a in stack.areas])
    by_output = outputs.min() < outputs.max()
    starts = np.array([a.holding.start for a in stack.areas])
    values = outputs if by_output else starts
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, _BANDS + 1)[1:-1], method="higher"))
    band = np.searchsorted(cuts, values, side="right")
    cancelled = len(cuts) + 1
    held = np.zeros((cancelled + 1, len(stack.edges) - 1))
    for area, of in zip(stack.areas, band, strict=True):
        row = cancelled if area.holding.cancelled else of
        held[row, area.first : area.first + len(area.top)] += area.top - area.bottom
    tops = held.cumsum(axis=0)
    colours = [*sns.color_palette("viridis", cancelled), _GREY["facecolor"]]
    outlines = [_steps(stack.edges, top - own, top) for top, own in zip(tops, held, strict=True)]
    image = sum(map(len, outlines)) > _VECTOR_CORNERS
    areas = PolyCollection(
        outlines, facecolors=colours, edgecolors="none", antialiaseds=False, rasterized=image
    )
    axes.add_collection(areas, autolim=False)
    if key:
        named = [
            (_range(values[band == k]), colours[k]) for k in range(cancelled) if (band == k).any()
        ]
        figure.legend(
            handles=[Patch(facecolor=colour, label=text) for text, colour in named[::-1]],
            loc="outside right center",
            title="output o (tokens)" if by_output else "start p (round)",
            fontsize=9,
            title_fontsize=9,
            frameon=False,
        )


def _range(values: NDArray[np.int64]) -> str:
    """Return the least and the greatest value, one number where they are one."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _add_areas(
    axes: Any,
    stack: _Stack,
    colours: list[Any],
    width: float,
    edge: str,
    *,
    hatched: bool = True,
) -> None:
    corners = [_corners(stack, area) for area in stack.areas]
    image = sum(len(each) for each in corners) > _VECTOR_CORNERS
    for cancelled in (False, True):
        chosen = [k for k, area in enumerate(stack.areas) if area.holding.cancelled == cancelled]
        if not chosen:
            continue
        axes.add_collection(
            PolyCollection(
                [corners[k] for k in chosen],
                facecolors=[colours[k] for k in chosen],
                edgecolors=_ON_AREA if cancelled and hatched else edge,
                linewidths=min(width, 0.4) if cancelled else width,
                hatch=_HATCH if cancelled and hatched else None,
                # Without edges, smoothing would let the ground shine through between two areas.
                antialiaseds=width > 0,
                rasterized=image,
            ),
            autolim=False,
        )


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


def _round_numbers(low: int, high: int) -> list[int]:
    """Return 1, 2, 5, 10, 20, ... from low to high for a logarithmic axis, or its two ends."""
    steps = [k * 10**e for e in range(len(str(high))) for k in (1, 2, 5)]
    return [step for step in steps if low <= step <= high] or [low, high]


def _with_commas(value: float, _: object) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,g}"
