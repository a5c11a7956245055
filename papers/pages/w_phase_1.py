"""W Table 3: seconds and TEL of each way to choose the batches of Sorted-F."""

import numpy as np
import pandas as pd

from papers.curves import Kinds, plain_table
from papers.experiment import Finding, PagePart, either, read_page
from papers.latency import Figure, method_text
from papers.selected_rows import ratios, share
from papers.span import Span, at_most, near, slope_of
from reports.figures.figure_parts import drawing, styles
from reports.table import Table

_DP = "sorted-f-dp"
#: Method, its name, and the exponent of n in its stated cost.
_COSTS = {
    _DP: ("dynamic program", 2),
    "sorted-f-swap": ("swaps", 2),
    "sorted-f-quantile": ("quantiles", 1),
}
_LABELS = {name: label for name, (label, _) in _COSTS.items()} | {"sorted-f-exact": "exact batches"}
#: Least n whose runs are long enough to measure.
_LONG = 100
_E7 = (
    "Errata E7: the program requires that the peaks of a batch sum to at most M.  Algorithm 1 "
    "requires that the batch fits at each of its completions."
)
_OURS = "The seconds are of our code, in which a run chooses several batches."


def _seconds(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return the mean seconds of a method's runs, by n."""
    kept = rows[rows["method"] == method_text(method)]
    found: pd.Series = kept["seconds"].astype(float).groupby(kept["n"].astype(int)).mean()
    return found


def _exponent(method: str) -> Figure:
    """Return the figure: slope of log seconds in log n."""

    def figure(rows: pd.DataFrame) -> Span | None:
        found = _seconds(rows, method).loc[_LONG:]
        return slope_of(np.log(found.index), np.log(found)) if len(found) else None

    return figure


def _cost(method: str) -> Finding:
    label, stated = _COSTS[method]
    return Finding(
        claim=f"{label}: exponent of n in the seconds, from n = {_LONG} on",
        paper=f"{stated} at most",
        figure=_exponent(method),
        holds=at_most(stated),
        digits=2,
        reasons=either(_OURS),
    )


def table(rows: pd.DataFrame) -> Table:
    """Return TEL over TEL of the dynamic program, and seconds, by n."""
    lines = []
    for n, kept in rows.groupby(rows["n"].astype(int)):
        quotients = [ratios(kept, name, _DP).mean() for name in _LABELS if name != _DP]
        took = [_seconds(kept, name).mean() for name in _LABELS]
        lines.append([n, kept["instance_sha256"].nunique(), *quotients, *took])
    labels = [label for name, label in _LABELS.items() if name != _DP]
    keys = ["n", "draws", *labels, *(f"{label} (s)" for label in _LABELS.values())]
    note = "TEL over TEL with the dynamic program's batches, means over the draws; then seconds."
    kinds: Kinds = {"count": keys[:2], "number": labels}
    return plain_table("phase-1", "By n", note, keys, lines, kinds)


def figure(rows: pd.DataFrame) -> str:
    """Draw the seconds of each way against n."""
    with drawing(6.5, 3.6) as made:
        axes = made.figure.subplots()
        looks = styles(list(_LABELS.values()))
        for name, label in _LABELS.items():
            curve = _seconds(rows, name)
            axes.plot(curve.index, curve, marker="o", ms=4, label=label, **looks[label])
        axes.set(xscale="log", yscale="log", xlabel="requests", ylabel="seconds of a run")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return made.svg


PAGE = read_page(
    "w-phase-1",
    figure=figure,
    parts=(
        PagePart(
            "The dynamic program as exact",
            "reproduction",
            "The table's exact program, next to Algorithm 1's batches.",
            ("phase-1",),
            (
                Finding(
                    claim="it gives the TEL of Algorithm 1's batches: share of draws",
                    paper="1",
                    figure=share(lambda rows: ratios(rows, "sorted-f-exact", _DP).eq(1)),
                    holds=near(1, 0),
                    digits=2,
                    reasons={"not reproduced": _E7},
                ),
            ),
            (table,),
        ),
        PagePart(
            "The costs",
            "other settings",
            "The table has asymptotic costs, which no seconds confirm or refute.",
            ("phase-1",),
            tuple(map(_cost, _COSTS)),
        ),
    ),
)
