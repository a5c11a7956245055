"""The best schedule and the best bound of one instance over time, from the traces of its runs."""

from typing import Any

import pandas as pd

from instances.time_unit import ROUNDS, SECONDS
from reports.figures.figure_parts import COLOURS, INK, Drawing, drawing
from reports.gaps_over_time import long_trace

BOUNDS_NOTE = (
    "UB, the least TEL, and LB, the largest bound, that any stored run had after so many of its "
    "seconds; a run without a trace counts at its end. OPT lies between both. Dashed: the best "
    "known values, where they are better."
)
_LEAST_SECONDS = 1e-3


def bounds_figure(runs: pd.DataFrame, upper: Any, lower: Any) -> Drawing | None:
    """Return the interval that holds OPT over the seconds of runs; None with nothing to follow.

    The runs are of one instance; ``upper`` and ``lower`` are its best known TEL and bound.
    """
    current = runs[~runs["superseded"].astype(bool)]
    unit = SECONDS if current["in_seconds"].any() else ROUNDS
    best = {}
    for side, part, column, take in (
        ("UB", current[~current["preempts"].astype(bool)], "incumbents", "cummin"),
        ("LB", current[current["believed"].astype(bool)], "bounds", "cummax"),
    ):
        trace = long_trace(part, column)
        trace["seconds"] = trace["seconds"].clip(lower=_LEAST_SECONDS)
        values = trace.sort_values("seconds").set_index("seconds")["value"] / unit.ticks
        best[side] = getattr(values, take)().groupby(level=0).last()
    table = pd.DataFrame(best).sort_index().ffill()
    if len(table) < 2 or best["UB"].empty:
        return None
    last = table.iloc[-1]
    with drawing(7.6, 3.2, slim=True) as made:
        axes = made.figure.subplots()
        for side, colour in zip(best, COLOURS, strict=False):
            label = f"{side}: {last[side]:,.{unit.digits}f}"
            if len(best[side]):
                axes.step(table.index, table[side], where="post", color=colour, label=label, lw=2)
        axes.fill_between(table.index, table["LB"], table["UB"], step="post", color=INK, alpha=0.07)
        for side, known, colour in zip(best, (upper, lower), COLOURS, strict=False):
            value = known / unit.ticks
            missing = pd.isna(last[side]) or (value < last[side]) == (side == "UB")
            if pd.notna(value) and value != last[side] and missing:
                label = f"best known {side}: {value:,.{unit.digits}f}"
                axes.axhline(value, color=colour, dashes=(4, 2), linewidth=1.2, label=label)
        axes.margins(x=0.02, y=0.06)
        axes.set(xscale="log", xlabel="seconds of a run", ylabel=f"TEL ({unit.name})")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        made.figure.legend(loc="outside right upper")
    return made
