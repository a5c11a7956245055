"""The main result: the best policies of each class of knowledge, and how far each is from OPT."""

import pandas as pd

from kvopt.methods.witness import is_own
from reports.figures.figure_parts import COLOURS, INK, Drawing, drawing, short_name
from reports.per_instance import spread_note
from reports.policy_boards import Board
from reports.table import Column, Table, write_column, write_share

#: The beginning of the slugs of table and figure.
MAIN_RESULT = "main-result"
#: Policies of a class in the table, by the place of the class: what knows more comes first.
MOST = (5, 3, 2, 0)
_SHOWN = "The best policies of each class, at most {best}, and every ranked custom method."
_MARKED = "a policy with * keeps the tokens of evicted requests. "
_UNKNOWN = "Where the lower bounds do not hold for such schedules, the upper end is unknown (?)."
_COVERED = "Their runs say that the lower bounds hold for such schedules too."
_GAP = (
    "(TEL − OPT) / TEL, {over}. OPT lies between the best lower bound and the best known TEL: the "
    "bound gives the upper end, the known TEL the lower end."
)
_KNOWS = (
    "clairvoyant policies know every output, offline policies also all arrivals. Policies with "
    "predictions know the true outputs where an instance has no predictions."
)


def ranking_table(boards: list[Board]) -> Table:
    """Return the best policies of each class and all custom ones, with their mean gap to OPT."""
    places = list(zip(boards, MOST, strict=False))
    chosen = [b.lines[(b.lines.index < most) | b.lines["method"].map(is_own)] for b, most in places]
    lines = pd.concat(chosen).sort_values(["gap_low", "label"], ignore_index=True)
    lines["gap"] = write_column(write_share, lines["gap_low"], lines["gap_high"])
    lines["knows"] = lines["class"] + lines["offline"].map({True: ", offline", False: ""})
    ends = lines.loc[lines["marked"], "gap_high"]
    marked = _MARKED + (_COVERED if ends.notna().all() else _UNKNOWN) if len(ends) else ""
    best = ", ".join(f"{most} {each.knows}" for each, most in places if most)
    means = _GAP.format(over=boards[0].over)
    shown = (
        Column("label", "policy", "name", note=marked),
        Column("knows", "knowledge of outputs", note=_KNOWS),
        Column("gap", "mean gap to OPT", "share", "gap_low", spread="spread", note=means),
    )
    note = _SHOWN.format(best=best) + spread_note(lines, mark="± (half a line in the figure)")
    return Table(f"{MAIN_RESULT}-table", "Main result", note, shown, lines)


def ranking_figure(table: Table) -> Drawing:
    """Return a bar for each line of :func:`ranking_table`: gap, pale its open part, and ±."""
    lines = table.frame
    classes = list(dict.fromkeys(lines["class"]))
    names = lines["label"].map(short_name)
    row = max(0.32, 0.17 * (1 + names.str.count("\n").max()))
    with drawing(7.6, row * len(lines) + 1.0) as made:
        axes = made.figure.subplots()
        low = 100 * lines["gap_low"].astype(float).fillna(0.0)
        high = 100 * lines["gap_high"].astype(float).fillna(low / 100)
        for name, colour in zip(classes, COLOURS, strict=False):
            own = lines["class"].eq(name)
            bars = lines.index[own]
            axes.barh(bars, low[own], label=name, color=colour, height=0.7)
            axes.barh(bars, (high - low)[own], left=low[own], alpha=0.35, color=colour, height=0.7)
        spread = 100 * lines["spread"].astype(float)
        if spread.notna().any():
            axes.errorbar(low, lines.index, xerr=spread, fmt="none", ecolor=INK, capsize=2.5)
        ends = high.clip(lower=(low + spread).fillna(0.0))
        for place, (end, text) in enumerate(zip(ends, lines["gap"], strict=True)):
            axes.annotate(text, (end, place), (4, 0), textcoords="offset points", va="center")
        axes.set_yticks(lines.index, names)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.16)
        axes.set(xlabel="mean gap to OPT, %", ylabel="", xlim=(0, None))
        made.figure.legend(loc="outside lower right", ncols=len(classes))
    return made
