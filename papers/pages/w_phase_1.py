"""W Table 3: the cost and the result of each way to choose the batches of Sorted-F."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.curves import Kinds, plain_table
from papers.drawn import ratios, share
from papers.experiment import Finding, Page, Part, either
from papers.latency import Figure, named
from papers.span import Span, at_most, near, slope_of
from reports.figures.style import drawing, styles
from reports.table import Table

_DP = "sorted-f-dp"
#: Method, its name, and the exponent of n in its stated cost.
_COSTS = {
    _DP: ("dynamic program", 2),
    "sorted-f-swap": ("swaps", 2),
    "sorted-f-quantile": ("quantiles", 1),
}
_LABELS = {name: label for name, (label, _) in _COSTS.items()} | {"sorted-f-exact": "exact batches"}
#: Below it a run is over before its time can be measured.
_LONG = 100
_E7 = (
    "Errata E7: the program asks that the peaks of a batch sum to at most M, Algorithm 1 that the "
    "batch fits at each of its completions."
)
_OURS = "The seconds are those of this code, in which a whole run has several batches to choose."


def _seconds(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return the mean seconds of a method's runs, by n."""
    own = rows[rows["method"] == named(method)]
    found: pd.Series = own["seconds"].astype(float).groupby(own["n"].astype(int)).mean()
    return found


def _exponent(method: str) -> Figure:
    """Return what gives the slope of log seconds in log n."""

    def figure(rows: pd.DataFrame) -> Span | None:
        found = _seconds(rows, method).loc[_LONG:]
        return slope_of(np.log(found.index), np.log(found)) if len(found) else None

    return figure


def _cost(method: str) -> Finding:
    label, stated = _COSTS[method]
    return Finding(
        claim=f"{label}: seconds grow with n to the power of, from n = {_LONG} on",
        paper=f"{stated} at most",
        figure=_exponent(method),
        holds=at_most(stated),
        digits=2,
        reasons=either(_OURS),
    )


def table(rows: pd.DataFrame) -> Table:
    """Return TEL over that of the dynamic program, and seconds, by n."""
    lines = []
    for n, own in rows.groupby(rows["n"].astype(int)):
        quotients = [ratios(own, name, _DP).mean() for name in _LABELS if name != _DP]
        took = [_seconds(own, name).mean() for name in _LABELS]
        lines.append([n, own["instance_sha256"].nunique(), *quotients, *took])
    labels = [label for name, label in _LABELS.items() if name != _DP]
    keys = ["n", "draws", *labels, *(f"{label} (s)" for label in _LABELS.values())]
    note = "TEL over that with batches of the dynamic program, means over the draws; then seconds."
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


PAGE = Page(
    slug="w-phase-1",
    title="W Table 3: the ways to choose batches",
    source="W (wang2025) sections 5.1 to 5.4, Table 3; errata E7.",
    experiment="Three ways to choose the batches of Sorted-F: a dynamic program, which the table "
    "calls exact, swaps and quantiles, which it calls heuristic; with their costs.",
    settings=(
        ("requests", "no experiment", "family `uniform` of W section 11.2, n = 25 to 400, 3 draws"),
        ("memory", "", "100 tokens"),
        ("exact batches", "the dynamic program", "a program over sizes and prompts, too"),
    ),
    figure=figure,
    caption="Seconds of whole runs, means over the draws.",
    parts=(
        Part(
            "The dynamic program as exact",
            "reproduction",
            "The table's exact values, next to Algorithm 1's own batches.",
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
        Part(
            "The costs",
            "other settings",
            "The table has costs in the limit, which no seconds confirm or refute; these are ours.",
            ("phase-1",),
            tuple(map(_cost, _COSTS)),
        ),
    ),
)
