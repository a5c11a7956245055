"""The policies of J2 Table 1 in rounds, with lognormal lengths and all requests at 0."""

from __future__ import annotations

import pandas as pd

from kvopt.methods.grammar import read_method
from papers.curves import Kinds, plain_table
from papers.drawn import ratios
from papers.latency import Figure, latencies, loop_share, loops, named
from papers.page import Finding, Page, Part, either
from papers.pages.j2_table_1 import PAPER as IN_SECONDS
from papers.pages.j2_table_1 import order_of_policies
from papers.span import Span, at_least, exactly
from reports.figures.style import drawing, styles
from reports.table import Table

_STALL = ",stall=yes"
#: What is printed in seconds, by the method in rounds.
PAPER = {name.replace(_STALL, ""): figures for name, figures in IN_SECONDS.items()}
_SF = next(iter(PAPER))
#: Of the sweeps at α = 0.1 and 0.2; those of the table are there, too.
_BETAS = (0.01, 0.05, 0.3, 0.5)
_LAW = (
    "Next to nothing overflows with these lengths (errata N7), so β hardly matters, and a smaller "
    "α only admits more."
)


def _spread(alpha: float) -> Figure:
    """Return what gives the largest mean quotient of latencies of one β over another at an α."""
    names = [f"alpha-beta(alpha={alpha},beta={beta})" for beta in _BETAS]

    def figure(rows: pd.DataFrame) -> Span | None:
        known = {name: latencies(rows, name) for name in names}
        table = pd.DataFrame(known).dropna()
        means = table.div(table.min(axis=1), axis=0).mean()
        return exactly(float(means.max())) if len(table) else None

    return figure


_ORDER = order_of_policies(
    PAPER,
    {"not reproduced": "Draws differ by more than the policies; on one MC-SF is best."},
    either(_LAW),
    either(_LAW),
)
_SPREADS = tuple(
    Finding(
        claim=f"β matters at α = {alpha}: the largest mean latency over β, over a draw's least",
        paper="curves only",
        figure=_spread(alpha),
        holds=at_least(1.05),
        reasons={"not reproduced": _LAW},
    )
    for alpha in (0.1, 0.2)
)
_LOOPS = Finding(
    claim="α = 0.15 ends in an endless loop (J1 figure 7): share of runs",
    paper="1",
    figure=loop_share(["alpha-greedy(alpha=0.15)"]),
    holds=at_least(0.5),
    digits=2,
    reasons={"not reproduced": _LAW},
)


def table(rows: pd.DataFrame) -> Table:
    """Return each policy's mean latency (rounds), and over that of MC-SF."""
    lines = []
    for method in dict.fromkeys(rows["method"]):
        own = rows[rows["method"] == method]
        latency = (own["tel"].astype(float) / own["n"].astype(float)).mean()
        over = float(ratios(rows, method, _SF).mean())
        printed = PAPER.get(_short(method))
        stated = printed[0] / PAPER[_SF][0] if printed else None
        lines.append([method, latency, over, stated, len(own), int(loops(own).sum())])
    keys = ["policy", "mean latency", "over MC-SF", "printed", "runs", "loops"]
    note = "Mean latency in rounds; printed is the quotient of the paper's means in seconds."
    kinds: Kinds = {"name": keys[:1], "ratio": keys[2:4], "count": keys[4:]}
    return plain_table("policies", "The policies", note, keys, lines, kinds)


def _short(method: str) -> str:
    return next((name for name in PAPER if named(name) == method), "")


def figure(rows: pd.DataFrame) -> str:
    """Draw the quotients over MC-SF of every draw, a line for each policy of the table."""
    own = rows[rows["section"] == "table"]
    with drawing(7, 3.2) as made:
        axes = made.figure.subplots()
        look, printed = styles(["ours", "printed"]).values()
        for place, name in enumerate(PAPER):
            found = ratios(own, name, _SF)
            axes.plot(found, [place] * len(found), "o", ms=4, alpha=0.6, color=look["color"])
            stated = PAPER[name][0] / PAPER[_SF][0]
            axes.plot(stated, place + 0.25, "|", ms=9, mew=2, color=printed["color"])
        axes.set_yticks(range(len(PAPER)), [read_method(name).text for name in PAPER])
        axes.invert_yaxis()
        axes.set_xlabel("TEL over that of MC-SF")
    return made.svg


PAGE = Page(
    slug="j-alpha-beta",
    title="The policies of J2 Table 1 in rounds, with lognormal lengths",
    source="J1 (jaillet2025_v1) section 7, J2 (jaillet2025_v2) section 5.2 and Table 1; errata N7.",
    experiment="MC-SF, MC-Benchmark and policies with α-protection and β-clearing serve 1,000 "
    "conversations; mean latencies, and the smallest α without a loop.",
    settings=(
        ("requests", "1,000 of LMSYS conversations, words", "family `chat-lognormal`"),
        ("arrivals", "Poisson, 50 a second", "all at round 0"),
        ("time", "seconds of batches", "rounds"),
        ("memory", "16,492 tokens", "the same"),
        ("overflow", "one pass of draws", "passes in the same round until the rest fits"),
    ),
    suite="j-alpha-beta.toml",
    figure=figure,
    caption="Points are our draws, bars the quotients of the printed means.",
    parts=(
        Part(
            "The policies of Table 1",
            "other settings",
            "[Table 1 in seconds](j2-table-1.md) has the paper's arrivals, and a law that clears.",
            ("table",),
            _ORDER,
            (table,),
        ),
        Part("Other α and β", "other settings", "", ("sweeps",), _SPREADS, (table,)),
        Part("The smallest α", "other settings", "", ("loops",), (_LOOPS,), (table,)),
    ),
)
