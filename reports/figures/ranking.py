"""The main result: the best policies of each class of knowledge, and how far each is from OPT."""

from __future__ import annotations

import pandas as pd

from reports.boards import Board
from reports.figures.style import COLOURS, Drawing, drawing
from reports.interval import share_text
from reports.table import Column, Table

#: Policies of a class in the table, by the place of the class: what knows more comes first.
MOST = (5, 3, 2)


def ranking_table(boards: list[Board]) -> Table:
    """Return the best policies of each class, ten lines at most, with their mean gap to OPT.

    A policy that keeps tokens over evictions solves an easier problem: its gap has no upper end.
    """
    chosen = [board.lines.head(most) for board, most in zip(boards, MOST, strict=False)]
    lines = pd.concat(chosen).sort_values(["gap_low", "label"], ignore_index=True)
    lines["gap"] = share_text(lines["gap_low"], lines["gap_high"])
    return Table(
        "main-result",
        "Main result",
        f"Gap: the share of the total latency that the optimum saves, {boards[0].over}. The lower "
        "end compares with the best known schedule, the upper end with the best proved bound. "
        "Offline: the policy knows all arrivals. A policy marked * keeps tokens over evictions, "
        "which the optimum may not.",
        (
            Column("label", "policy", "name"),
            Column("knows", "knowledge of outputs"),
            Column("gap", "mean gap to OPT", "share", "gap_low"),
        ),
        lines,
    )


def ranking_figure(table: Table) -> Drawing:
    """Return a bar for each line of :func:`ranking_table`: the gap, and what no bound decides."""
    lines = table.frame
    classes = list(dict.fromkeys(lines["class"]))
    with drawing(7.6, 0.32 * len(lines) + 1.0) as made:
        axes = made.figure.subplots()
        low, high = (100 * lines[each].astype(float) for each in ("gap_low", "gap_high"))
        for name, colour in zip(classes, COLOURS, strict=False):
            own = lines["class"].eq(name)
            axes.barh(lines.index[own], low[own], color=colour, label=name, height=0.7)
            open_part = (high - low).fillna(0.0)[own]
            axes.barh(
                lines.index[own], open_part, left=low[own], color=colour, alpha=0.35, height=0.7
            )
        for place, text in enumerate(lines["gap"]):
            end = high[place] if pd.notna(high[place]) else low[place]
            axes.annotate(text, (end, place), (4, 0), textcoords="offset points", va="center")
        axes.set_yticks(lines.index, lines["label"])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.16)
        axes.set(xlabel="mean gap to OPT, %", ylabel="")
        made.figure.legend(loc="outside lower right", ncols=len(classes))
    return made
