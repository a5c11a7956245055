"""C figure 2: the stated ratios of A_min and A_ℓ for outputs of two lengths."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from papers.curves import draw_points, plain_table
from papers.experiment import Finding, PagePart, read_page
from papers.latency import Figure
from papers.selected_rows import of_instances, ratios, share
from papers.span import Span, at_most, exactly, near
from reports.figures.figure_parts import drawing, styles
from reports.table import Table

_UPPER, _MEMORY = 50, 1000
CROSSING = (3 - math.sqrt(5)) / 2
_LEMMA_1 = (
    "Theorem 6 rests on Lemma 1, which fails (errata E16): if long outputs are rare, no request "
    "is cancelled and A_min learns nothing.  The worst share of long outputs by the paper's "
    "formula is not the worst share."
)
_BETTER = (
    "The curves are bounds for the worst share of long outputs.  At one share the order can be "
    "reversed."
)


def a_min_bound(alpha: float) -> float:
    """Return (3 − α)/2 (Theorem 6)."""
    return (3 - alpha) / 2


def a_ell_bound(alpha: float) -> float:
    """Return the two branches of Theorem 7."""
    return 1 + alpha / (2 * (1 - alpha)) if alpha <= 0.5 else 1 + 2 * alpha**2


def _alphas(rows: pd.DataFrame, by: pd.Series) -> pd.Series:
    return of_instances(rows, "lower", by) / _UPPER


def most(method: str, bound: Callable[[float], float]) -> Figure:
    """Return the figure: largest ratio to H-SF over a bound by α and u/M."""

    def figure(rows: pd.DataFrame) -> Span | None:
        found = ratios(rows, method, "h-sf")
        if found.empty:
            return None
        allowed = _alphas(rows, found).map(bound) + _UPPER / _MEMORY
        return exactly(float((found / allowed).max()))

    return figure


def _crossing(rows: pd.DataFrame) -> Span:
    """Return the α at which the bounds cross, by bisection."""
    del rows
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        below = a_ell_bound(middle) < a_min_bound(middle)
        low, high = (middle, high) if below else (low, middle)
    return exactly(low)


def _better(method: str, other: str, *, below: bool) -> Figure:
    def held(rows: pd.DataFrame) -> pd.Series:
        found = ratios(rows, method, other)
        alphas = _alphas(rows, found)
        return found[alphas.lt(CROSSING) if below else alphas.gt(CROSSING)].le(1)

    return share(held)


def table(rows: pd.DataFrame) -> Table:
    """Return measured ratios and bounds by lengths and share."""
    mins, ells = ratios(rows, "a-min", "h-sf"), ratios(rows, "a-ell", "h-sf")
    frame = pd.DataFrame(
        {
            "α": _alphas(rows, mins),
            "long": of_instances(rows, "long_share", mins),
            "A_min": mins,
            "A_ell": ells,
        }
    ).sort_values(["α", "long"])
    frame.insert(2, "stated of A_min", frame["α"].map(a_min_bound))
    frame.insert(4, "stated of A_ell", frame["α"].map(a_ell_bound))
    note = "Ratios to H-SF.  α = ℓ/u, u = 50; long: share of outputs u."
    title = "Ratios by α and share"
    return plain_table("ratios", title, note, list(frame), frame, {"share": ["long"]})


def figure(rows: pd.DataFrame) -> str:
    """Draw both bounds against α, and every measured ratio."""
    looks = list(styles(["A_min", "A_ell"]).values())
    alpha = np.linspace(0.001, 1, 400)
    with drawing(6.5, 4) as made:
        axes = made.figure.subplots()
        for method, label, bound, look in (
            ("a-min", "A_min", a_min_bound, looks[0]),
            ("a-ell", "A_ℓ", a_ell_bound, looks[1]),
        ):
            axes.plot(alpha, [bound(a) for a in alpha], label=f"stated of {label}", **look)
            found = ratios(rows[rows["section"] == "two-point"], method, "h-sf")
            draw_points(axes, _alphas(rows, found), found, look["color"], f"our {label}")
        axes.axvline(CROSSING, linewidth=0.8, color="grey")
        axes.set(xlabel="α = ℓ/u", ylabel="TEL / TEL of H-SF", ylim=(0.8, None))
        axes.legend()
    return made.svg


PAGE = read_page(
    "c-fig-2",
    figure=figure,
    parts=(
        PagePart(
            "The bounds",
            "reproduction",
            "A ratio may exceed its bound by u/M = 0.05 here, for O(1/M).",
            ("two-point",),
            (
                Finding(
                    claim="the bounds cross at α",
                    paper="0.382",
                    figure=_crossing,
                    holds=near(0.382, 0.002),
                ),
                Finding(
                    claim="A_min keeps (3 − α)/2: the largest ratio over the bound plus u/M",
                    paper="at most 1",
                    figure=most("a-min", a_min_bound),
                    holds=at_most(1),
                    reasons={"not reproduced": _LEMMA_1},
                ),
                Finding(
                    claim="A_ℓ keeps its bound: the largest ratio over the bound plus u/M",
                    paper="at most 1",
                    figure=most("a-ell", a_ell_bound),
                    holds=at_most(1),
                ),
                Finding(
                    claim="below 0.382 A_ℓ is better: share of draws with A_ℓ no worse",
                    paper="all",
                    figure=_better("a-ell", "a-min", below=True),
                    holds=near(1, 0),
                    digits=2,
                    reasons={"not reproduced": _BETTER},
                ),
                Finding(
                    claim="above 0.382 A_min is better: share of draws with A_min no worse",
                    paper="all",
                    figure=_better("a-min", "a-ell", below=False),
                    holds=near(1, 0),
                    digits=2,
                    reasons={"not reproduced": _BETTER},
                ),
            ),
            (table,),
        ),
    ),
)
