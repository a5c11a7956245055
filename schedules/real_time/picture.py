"""The picture of one schedule in seconds: memory, running and waiting requests over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from instances.batch_time import NANOSECONDS
from instances.model import Instance
from schedules.model import Schedule
from schedules.picture import (
    COLUMNS,
    RUNNING,
    WAITING,
    add_titles,
    label_memory,
    picture_of,
    picture_style,
)
from schedules.real_time.timeline import Ints, Timeline, timeline

_SIZE = (10.0, 6.0)
_DPI = 150
_MEMORY, _LIMIT = "#2f7fc1", "crimson"


def drawn(instance: Instance, schedule: Schedule) -> Figure:
    """Return the picture of a schedule, by its unit.

    Raises
    ------
    ValueError
        As ``schedules.picture.picture_of`` and :func:`picture_in_seconds` say.
    """
    draw = picture_of if schedule.clock is None else picture_in_seconds
    return draw(instance, schedule)


def picture_in_seconds(instance: Instance, schedule: Schedule) -> Figure:
    """Return the tokens held, and the requests that run and wait, over seconds.

    Time is cut into as many columns as the picture is wide; each shows the most of the rounds that
    it touches.  Where no round runs nothing is held and nothing runs.

    Raises
    ------
    ValueError
        If the schedule has no clock (``schedules.real_time.timeline``).
    """
    found = timeline(instance, schedule)
    first = min(int(found.arrivals.min()), int(found.rounds.begins[0]))
    edges = np.linspace(first, int(found.rounds.ends[-1]), COLUMNS + 1)
    seconds = (edges - first) / NANOSECONDS
    with picture_style():
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        title = (instance.name, schedule.method)
        add_titles(figure, above, title, _subtitle(found, schedule), cancelled=None)
        _draw_memory(above, seconds, most(found, found.rounds.tokens, edges), instance.memory)
        _draw_requests(below, seconds, found, edges)
        for axes in (above, below):
            axes.set_xlim(seconds[0], seconds[-1])
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        after = "" if first == 0 else f", from {first / NANOSECONDS:,.3f} s on"
        below.set_xlabel(f"time (seconds{after})")
        figure.align_ylabels((above, below))
    return figure


def most(found: Timeline, values: Ints, edges: NDArray[np.float64]) -> Ints:
    """Return the largest value of the rounds that each column touches, 0 where none runs.

    Parameters
    ----------
    values
        One a round.
    edges
        Nanoseconds, shape (columns + 1,).
    """
    low = np.searchsorted(found.rounds.ends, edges[:-1], side="right")
    high = np.searchsorted(found.rounds.begins, edges[1:], side="left")
    pairs = np.ravel(np.column_stack((low, np.maximum(low, high))))
    # With a last value that no column has, a pair may end behind the last round.
    largest = np.maximum.reduceat(np.append(values, 0), pairs)[::2]
    return np.where(high > low, largest, 0)


def _draw_memory(axes: Any, seconds: NDArray[np.float64], tokens: Ints, memory: int) -> None:
    axes.stairs(tokens, seconds, fill=True, color=_MEMORY, alpha=0.55)
    axes.set_ylabel("KV memory held (tokens)")
    peak = int(tokens.max())
    text = f"M = {memory:,} tokens"
    if 10 * peak >= memory:
        axes.axhline(memory, color=_LIMIT, linewidth=1.4, linestyle=(0, (6, 3)))
        height = float(memory)
        axes.set_ylim(0, 1.12 * max(memory, peak))
    else:
        height, text = 1.1 * peak, f"{text}, above this axis; peak {peak:,}"
        axes.set_ylim(0, 1.25 * peak)
    label_memory(axes, text, height)


def _draw_requests(
    axes: Any, seconds: NDArray[np.float64], found: Timeline, edges: NDArray[np.float64]
) -> None:
    running = most(found, found.rounds.running, edges)
    waiting = most(found, found.rounds.waiting, edges)
    axes.stairs(waiting, seconds, color=WAITING, linewidth=1.3, label="waiting")
    axes.stairs(running, seconds, color=RUNNING, linewidth=1.3, label="running")
    axes.set_ylabel("requests")
    axes.legend(loc="upper right", fontsize=9, frameon=False, ncols=2)
    axes.set_ylim(0, 1.25 * max(int(running.max()), int(waiting.max())))


def _subtitle(found: Timeline, schedule: Schedule) -> str:
    total = int(found.latencies.sum()) / NANOSECONDS
    parts = [
        f"n = {len(found.arrivals):,}",
        f"TEL {total:,.3f} s",
        f"AEL {total / len(found.arrivals):,.3f} s",
    ]
    if schedule.keeps_tokens:
        parts.append("keeps tokens over evictions")
    elif schedule.lower_bound is not None and total:
        bound = schedule.lower_bound / NANOSECONDS
        tel = int(found.latencies.sum())
        # Rounded up, since it is the most that is left.
        left = -(-1000 * (tel - schedule.lower_bound) // tel) / 10
        parts.append(f"lower bound {bound:,.3f} s ({left:.1f} % left at most)")
    return "   ".join(parts)
