"""C section 5 on 200 requests: outputs of two lengths, geometric ones, and u as it grows."""

from __future__ import annotations

import re
from math import log

import pandas as pd

from papers.curves import plain_table
from papers.drawn import among, of_family, parameter, ratios
from papers.latency import Figure, latency_ratio
from papers.page import Finding, Page, Part
from papers.pages.c_fig_2 import a_ell_bound, a_min_bound, most
from papers.pages.c_fig_3 import largest, least_step
from papers.span import Span, at_least, at_most, quotient
from reports.figures.style import drawing, styles
from reports.table import Table

_LABELS = {"a-min": "A_min", "a-ell": "A_ℓ", "a-switch": "switch", "a-max": "A_max"}
_LABELS["a-random"] = "A_random"
_GEOMETRIC = {"geometric": ("G(p)", 1.7), "linearly-weighted-geometric": ("LG(p)", 14 / 9)}
_UPPERS = (10, 50, 200, 800)
#: Section, what its axis is, and the parameter that its instances are named by.
_PANELS = (
    ("two-point", "ℓ", "lower"),
    ("geometric", "p", "p"),
    ("upper-bound", "u", "upper"),
)
_FEW = "Few requests: their number and M are no limits here."


def theorem_1(alpha: float) -> float:
    """Return (1/α)(1 + 1/α)/2."""
    return (1 + 1 / alpha) / alpha / 2


def _switch_bound(alpha: float) -> float:
    return min(a_min_bound(alpha), a_ell_bound(alpha))


def _kept(method: str, bound: str, figure: Figure) -> Finding:
    return Finding(
        claim=f"{_LABELS[method]} keeps {bound}: the largest ratio to H-SF over that and u/M",
        paper="at most 1",
        figure=figure,
        holds=at_most(1),
        reasons={"not reproduced": _FEW},
    )


def _geometric(family: str) -> tuple[Finding, ...]:
    name, bound = _GEOMETRIC[family]
    return (
        Finding(
            claim=f"{name}: the largest mean ratio of A_min to H-SF over p",
            paper=f"{bound:.2f} at most",
            figure=of_family(family, largest),
            holds=at_most(bound),
            reasons={"not reproduced": _FEW},
        ),
        Finding(
            claim=f"{name}: it increases with q = 1 − p: the least quotient of one q over the one "
            "before",
            paper="above 1",
            figure=of_family(family, least_step),
            holds=at_least(1),
            reasons={"not reproduced": _FEW},
        ),
    )


def _growth(rows: pd.DataFrame) -> Span | None:
    """Return the ratio of A_min at the largest u over that at the smallest, over that of ln u."""
    ends = [among(latency_ratio("a-min", "h-sf"), upper=u)(rows) for u in (_UPPERS[-1], _UPPERS[0])]
    grown = quotient(*ends)
    logs = log(_UPPERS[-1]) / log(_UPPERS[0])
    return grown and Span(grown.low / logs, grown.high / logs, (grown.value or 0) / logs)


def table(rows: pd.DataFrame) -> Table:
    """Return each method's mean ratio to H-SF, a line for each setting of a family."""
    setting = rows["instance"].astype(str).str.replace(r"_seed\d+", "", regex=True)
    methods = [name for name in _LABELS if rows["method"].eq(name).any()]
    lines = []
    for name in sorted(set(setting), key=_by_number):
        own = rows[setting == name]
        means = [float(ratios(own, method, "h-sf").mean()) for method in methods]
        lines.append([name, own["instance_sha256"].nunique(), *means])
    keys = ["instances", "draws", *(_LABELS[name] for name in methods)]
    told = "ratios", "Ratios to H-SF", "Means over the draws."
    return plain_table(*told, keys, lines, {"text": ["instances"], "count": ["draws"]})


def _by_number(name: str) -> tuple[str, float]:
    """Return what sorts instances by the parameter that their names end with."""
    stem, number = re.fullmatch(r"(.*?)([\d.]+)", name).groups()  # type: ignore[union-attr]
    return stem, float(number)


def figure(rows: pd.DataFrame) -> str:
    """Draw the mean ratio of each method against ℓ, p and u."""
    looks = styles(list(_LABELS))
    with drawing(10, 3.4) as made:
        panels = made.figure.subplots(1, len(_PANELS))
        for axes, (section, label, key) in zip(panels, _PANELS, strict=True):
            own = rows[rows["section"] == section]
            own = own[own["family"] != "linearly-weighted-geometric"]
            for method in (name for name in _LABELS if own["method"].eq(name).any()):
                found = ratios(own, method, "h-sf")
                told = parameter(own, key).groupby(own["instance_sha256"]).first()
                curve = found.groupby(told.reindex(found.index)).mean()
                axes.plot(
                    curve.index, curve, marker="o", ms=3, label=_LABELS[method], **looks[method]
                )
            axes.set_title(section.replace("-", " "), loc="left")
            axes.set_xlabel(f"{label} (tokens)" if key != "p" else label)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.legend()
        panels[0].set_ylabel("TEL over that of H-SF")
    return made.svg


PAGE = Page(
    slug="c-distributions",
    title="C section 5 with 200 requests",
    source="C (chen2025) sections 5.1 to 5.3, Theorems 1, 5, 6 and 7; errata E16.",
    experiment="Outputs of two lengths, G(p) and LG(p), for which the paper states ratios to H-SF "
    "as M and n grow.",
    settings=(
        ("M and n", "→ ∞", "1,000 tokens, 200 requests"),
        ("u", "→ ∞ for G(p) and LG(p)", "50, 100, and 10 to 800"),
        ("prompts", "any; the proofs have none", "none"),
        ("runs", "", "5 draws; 3 orders where a policy draws one"),
    ),
    tolerances=(("u/M beside each bound", "bounds are stated up to O(1/M)"),),
    suite="c-distributions.toml",
    figure=figure,
    caption="Means over the draws; G(p) in the middle.",
    parts=(
        Part(
            "Outputs of two lengths",
            "other settings",
            "Bounds of limits beside a few requests: the pages of [figure 2](c-fig-2.md) and "
            "[figure 3](c-fig-3.md) have many.",
            ("two-point",),
            (
                _kept("a-min", "(3 − α)/2", most("a-min", a_min_bound)),
                _kept("a-ell", "the bound of Theorem 7", most("a-ell", a_ell_bound)),
                _kept("a-switch", "the smaller of both", most("a-switch", _switch_bound)),
                _kept("a-max", "(1/α)(1 + 1/α)/2", most("a-max", theorem_1)),
            ),
            (table,),
        ),
        Part(
            "Geometric outputs",
            "other settings",
            "For large p all 200 start at once under A_min and H-SF, so that the ratio is 1.",
            ("geometric",),
            (*_geometric("geometric"), *_geometric("linearly-weighted-geometric")),
            (table,),
        ),
        Part(
            "One law, cut at u",
            "other settings",
            "G(0.1), whose outputs are below 50 mostly, so that a larger u makes the prediction "
            "worse and changes little else.",
            ("upper-bound",),
            (
                Finding(
                    claim="A_min grows like log u at most (Theorem 5): its ratio at u = 800 over "
                    "that at 10, over that of the logarithms",
                    paper="1 at most",
                    figure=_growth,
                    holds=at_most(1),
                    reasons={"not reproduced": _FEW},
                ),
            ),
            (table,),
        ),
    ),
)
