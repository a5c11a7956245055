"""The best schedule and the best bound of one instance over time, from the traces of its runs."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from instances.time_unit import ROUNDS, SECONDS, TimeUnit
from reports.figures.style import COLOURS, INK, Drawing, drawing
from reports.traces import long_trace

BOUNDS_NOTE = (
    "UB, the least TEL, and LB, the largest bound, that any stored run had after so many seconds "
    "of its own; thin lines are single runs, and a run without a trace counts at its end. Between "
    "both lies OPT. Dashed: the best known values, where they are better."
)
#: Runs drawn for themselves.
_MOST_RUNS = 40
_LEAST_SECONDS = 1e-3


def bounds_figure(runs: pd.DataFrame, upper: Any, lower: Any) -> Drawing | None:
    """Return the interval that holds OPT over the seconds of runs; None with nothing to follow.

    The runs are of one instance; ``upper`` and ``lower`` are its best known TEL and bound.
    """
    current = runs[~runs["superseded"].astype(bool)]
    kept, believed = (current[name].astype(bool) for name in ("preempts", "believed"))
    unit = SECONDS if current["in_seconds"].any() else ROUNDS
    upper, lower = upper / unit.ticks, lower / unit.ticks
    traces = {
        side: _falling(long_trace(part, column), sign, unit)
        for side, part, column, sign in (
            ("UB", current[~kept], "incumbents", 1),
            ("LB", current[believed], "bounds", -1),
        )
    }
    points = pd.concat(traces.values())
    if points["seconds"].nunique() < 2 or traces["UB"].empty:
        return None
    end = float(points["seconds"].max())
    with drawing(7.6, 3.2, slim=True) as made:
        axes = made.figure.subplots()
        for (side, trace), colour in zip(traces.items(), COLOURS, strict=False):
            _draw(axes, trace, end, side, colour, unit.digits)
        best = {name: _best(trace) for name, trace in traces.items()}
        _fill(axes, best["UB"], best["LB"], end)
        known = (("UB", upper, 1, COLOURS[0]), ("LB", lower, -1, COLOURS[1]))
        for side, value, sign, colour in known:
            last = best[side]["value"].iloc[-1] if len(best[side]) else sign * np.inf
            if pd.notna(value) and sign * float(value) < sign * last:
                label = f"best known {side}: {value:,.{unit.digits}f}"
                axes.axhline(value, color=colour, dashes=(4, 2), linewidth=1.2, label=label)
        seen = pd.concat(list(best.values()))["value"]
        known_values = [float(value) for value in (upper, lower) if pd.notna(value)]
        low, high = min([*seen, *known_values]), max([*seen, *known_values])
        room = 0.06 * (high - low) or 1
        axes.set_ylim(low - room, high + room)
        axes.set_xscale("log")
        axes.set_xlim(max(float(points["seconds"].min()), _LEAST_SECONDS) / 1.3, end * 1.05)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("seconds of a run")
        axes.set_ylabel(f"TEL ({unit.name})")
        handles, labels = axes.get_legend_handles_labels()
        made.figure.legend(handles, labels, loc="outside right upper")
    return made


def _falling(trace: pd.DataFrame, sign: int, unit: TimeUnit) -> pd.DataFrame:
    """Return a trace in which each run keeps its best value so far, by time, in a unit."""
    ordered = trace.assign(seconds=trace["seconds"].astype(float).clip(lower=_LEAST_SECONDS))
    ordered = ordered.sort_values(["seconds", "run"], kind="stable", ignore_index=True)
    values = sign * ordered["value"].astype(float) / unit.ticks
    return ordered.assign(value=sign * values.groupby(ordered["run"]).cummin(), sign=sign)


def _best(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the best value of any run by time, one line a time."""
    best = (trace["sign"] * trace["value"]).cummin() * trace["sign"]
    return trace.assign(value=best).drop_duplicates("seconds", keep="last")


def _draw(axes: Any, trace: pd.DataFrame, end: float, side: str, colour: str, digits: int) -> None:
    for _, own in islice(trace.groupby("run", sort=False), _MOST_RUNS):
        _stairs(axes, own, end, color=INK, alpha=0.16, linewidth=0.8)
    best = _best(trace)
    if len(best):
        label = f"{side}: {best['value'].iloc[-1]:,.{digits}f}"
        _stairs(axes, best, end, color=colour, linewidth=2, label=label)


def _stairs(axes: Any, trace: pd.DataFrame, end: float, **look: Any) -> None:
    """Draw a trace, whose last value holds to the end."""
    times, values = [*trace["seconds"], end], [*trace["value"], trace["value"].iloc[-1]]
    axes.step(times, values, where="post", **look)


def _fill(axes: Any, upper: pd.DataFrame, lower: pd.DataFrame, end: float) -> None:
    """Shade what lies between both, from when both are there."""
    if upper.empty or lower.empty:
        return
    begin = max(float(upper["seconds"].iloc[0]), float(lower["seconds"].iloc[0]))
    inner = pd.concat([upper["seconds"], lower["seconds"]])
    times = np.unique([begin, end, *inner[inner > begin]])
    ends = [
        side["value"].to_numpy()[np.searchsorted(side["seconds"], times, side="right") - 1]
        for side in (upper, lower)
    ]
    axes.fill_between(times, *ends, step="post", color=INK, alpha=0.07, linewidth=0)
