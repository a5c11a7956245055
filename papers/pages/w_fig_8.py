"""W figures 8 and 10: mean latency of a mixed trace against the number of requests."""

from collections.abc import Iterable
from functools import partial

import pandas as pd

from papers.curves import draw_curves, latency_table
from papers.experiment import Finding, PagePart, read_page
from papers.latency import latency_ratio, least
from papers.selected_rows import restrict
from papers.span import FindingVerdict, at_least, at_most, near
from reports.figures.figure_parts import drawing
from reports.table import Table

SIZES = (200, 400, 800, 1200, 1600, 2000)
_SF, _SWAP, _QUANTILE = "mc-sf", "sorted-f-swap", "sorted-f-quantile"
LABELS = {
    "fcfs": "FCFS",
    _SF: "MC-SF",
    _QUANTILE: "Sorted-F (quantile)",
    _SWAP: "Sorted-F (swap)",
    "svf": "smallest volume first",
}
ADVISED = {_SF: "MC-SF", _SWAP: "Sorted-F (swap)", "sorted-lp": "Sorted-LP", "lp-swap": "LP-Swap"}
_NO_NUMBER = "curves only"
Reasons = dict[FindingVerdict, str]
_TICKS = (20, 50, 100, 200, 500, 1_000)
#: Our tolerances for "nearly identical" and "significant".
_SAME, _CLEAR = 0.02, 0.05
_UNDECIDED: Reasons = {"undecided": "The repeats are too few for so small a difference."}
_GOOD_ALREADY: Reasons = {
    "not reproduced": "The relaxation's order is already good here, also with long prompts.  The "
    "paper's Sorted-LP is worse than its swaps.  The paper does not state its solver or time steps "
    "for so large a relaxation.",
    **_UNDECIDED,
}
_FIRST: Reasons = {
    "not reproduced": "Swaps keep the size of a batch, so its first requests matter: the smallest "
    "peaks, or the first of the relaxation.",
    **_UNDECIDED,
}


def _at_every_size(method: str, other: str, sizes: Iterable[int]) -> Finding:
    name = {**LABELS, **ADVISED}
    return Finding(
        claim=f"{name[method]} is worse than {name[other]}: the least mean quotient of latencies "
        "over the sizes",
        paper=_NO_NUMBER,
        figure=least(restrict(latency_ratio(method, other), n=n) for n in sizes),
        holds=at_least(1),
        reasons={
            "not reproduced": "At the smallest sizes few requests wait, so order matters less.",
            **_UNDECIDED,
        },
    )


def _advised() -> tuple[Finding, ...]:
    same = "figure 10: LP-Swap and Sorted-F (swap) are nearly the same (within 2 %), mean quotient"
    return tuple(
        Finding(claim, _NO_NUMBER, latency_ratio(method, other), holds, reasons=reasons)
        for claim, method, other, holds, reasons in (
            (
                "MC-SF is worse than Sorted-LP, mean quotient",
                _SF,
                "sorted-lp",
                at_least(1),
                _UNDECIDED,
            ),
            (
                "LP-Swap is significantly better than Sorted-LP (5 % or more), mean quotient",
                "lp-swap",
                "sorted-lp",
                at_most(1 - _CLEAR),
                _GOOD_ALREADY,
            ),
            (same, "lp-swap", _SWAP, near(1, _SAME), _FIRST),
        )
    )


def advised_table(rows: pd.DataFrame) -> Table:
    """Return the curves of figure 10 as numbers."""
    return latency_table(_with_advice(rows), ADVISED)


def _with_advice(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of instances with a solved relaxation."""
    advised = rows.loc[rows["section"] == "advised-seconds", "instance_sha256"]
    return rows[rows["instance_sha256"].isin(set(advised))]


def figure(rows: pd.DataFrame) -> str:
    """Draw the curves of figure 8, and of figure 10 if there are rows."""
    advised = _with_advice(rows)
    with drawing(9.5, 5) as made:
        left, *right = made.figure.subplots(1, 2 if len(advised) else 1, squeeze=False)[0]
        draw_curves(left, rows[rows["section"] == "seconds"], LABELS)
        left.set(yscale="log", title="figure 8", ylabel="mean latency (s)", ylim=(15, None))
        left.set_yticks(_TICKS, [f"{tick:,}" for tick in _TICKS])
        left.minorticks_off()
        for axes in right:
            draw_curves(axes, advised, ADVISED, [*LABELS.values()])
            axes.set(title="figure 10, as far as the relaxation goes")
    return made.svg


PAGE = read_page(
    "w-fig-8",
    figure=figure,
    parts=(
        PagePart(
            "Figure 8: without the relaxation",
            "reproduction",
            "Latencies in seconds under a batch time, as in the paper.",
            ("seconds",),
            (
                _at_every_size(_SF, _SWAP, SIZES),
                _at_every_size(_QUANTILE, _SWAP, SIZES),
                Finding(
                    "MC-SF is worse than Sorted-F (quantile) at 2,000 requests, mean quotient",
                    _NO_NUMBER,
                    restrict(latency_ratio(_SF, _QUANTILE), n=SIZES[-1]),
                    at_least(1),
                    reasons=_UNDECIDED,
                ),
            ),
            (partial(latency_table, labels=LABELS),),
        ),
        PagePart(
            "Figures 8 and 10: with the relaxation",
            "reproduction",
            "Sizes are 200 and 400, since the relaxation of 2,000 requests at this M is too large.",
            ("seconds", "advised-seconds"),
            _advised(),
            (advised_table,),
        ),
    ),
)
