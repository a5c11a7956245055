"""J2 figures 7, 8, 10 and 11: latency against alpha and beta, and the smallest alpha."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from papers.curves import Kinds, plain_table
from papers.experiment import Finding, Kind, Page, Part, either
from papers.latency import costs, loop_share, loops, named, over_best
from papers.pages.j2_table_1 import KINDS, RATES, SETTINGS
from papers.span import at_least, at_most, mean_of, near
from reports.figures.style import drawing, styles
from reports.table import Table

ALPHAS = (0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
BETAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5)
FIXED_ALPHAS = (0.1, 0.2)
FIXED_BETAS = (0.1, 0.2)
#: Of the search for the smallest alpha without a loop, as in the paper in steps of 0.01.
GRID = tuple(round(0.01 * step, 2) for step in range(14, 31))

#: Ranges of the least latency, as stated: of alpha and of beta, and the smallest alpha.
_ALPHA_RANGE = {"high": (0.15, 0.25), "low": (0.10, 0.25)}
_BETA_RANGE = {"high": (0.05, 0.25), "low": (0.05, 0.20)}
_SMALLEST = {"high": 0.21, "low": 0.24}
#: What we call a significant loss: the paper gives no number.
_LOSS = 1.05

_REQUESTS = {"high": 1_000, "low": 2_000}
_SHORT_TAIL = (
    "Less protection pays here: outputs are 85 tokens on average under 16,492, so that an overflow "
    "is rare even at a small α, and one pass of draws clears few requests."
)
_NEVER = (
    "Memory overflows seldom at this α in these runs, so that β decides little; and where it does, "
    "few requests need to go."
)
_CLEARS = (
    "Where memory overflows often, a larger β clears nearly all again and again; on some draws "
    "this begins within the range that the paper calls good."
)
_EDGE = (
    "Whether a greedy run loops depends on the lengths of the requests at the head of the queue, "
    "so that the smallest α differs from draw to draw; the paper's number is of its one data set."
)


def _method(alpha: float, beta: float) -> str:
    return f"alpha-beta(alpha={alpha},beta={beta},stall=yes)"


def _within(values: Iterable[float], low: float, high: float) -> tuple[list[float], list[float]]:
    inside = [value for value in values if low <= value <= high]
    return inside, [value for value in values if value not in inside]


def _alpha_findings(demand: str, beta: float) -> tuple[Finding, ...]:
    low, high = _ALPHA_RANGE[demand]
    inside, outside = _within(ALPHAS, low, high)
    small = [alpha for alpha in ALPHAS if alpha < 0.1]
    best = [_method(alpha, beta) for alpha in ALPHAS]
    return (
        Finding(
            claim=f"β = {beta}: an α of [{low:.2f}, {high:.2f}] is best, least latency there over "
            "least elsewhere, on every draw",
            paper="below 1",
            figure=over_best(
                [_method(alpha, beta) for alpha in inside],
                [_method(alpha, beta) for alpha in outside],
            ),
            holds=at_most(1),
            reasons=either(_SHORT_TAIL),
        ),
        Finding(
            claim=f"β = {beta}: every α below 0.1 is significantly worse, least latency of these "
            "over the best",
            paper="significantly above 1",
            figure=over_best([_method(alpha, beta) for alpha in small], best),
            holds=at_least(_LOSS),
            reasons=either(_SHORT_TAIL),
        ),
    )


def _beta_findings(demand: str, alpha: float) -> tuple[Finding, ...]:
    low, high = _BETA_RANGE[demand]
    inside, _ = _within(BETAS, low, high)
    every = [_method(alpha, beta) for beta in BETAS]
    return (
        Finding(
            claim=f"α = {alpha}: all β of [{low:.2f}, {high:.2f}] do well, worst of them over the "
            "best of all",
            paper="close to 1",
            figure=over_best([_method(alpha, beta) for beta in inside], every, worst=True),
            holds=at_most(_LOSS),
            reasons=either(_CLEARS),
        ),
        Finding(
            claim=f"α = {alpha}: a very small β (0.01) is worse, over the best",
            paper="above 1",
            figure=over_best([_method(alpha, BETAS[0])], every),
            holds=at_least(_LOSS),
            reasons=either(_NEVER),
        ),
        Finding(
            claim=f"α = {alpha}: a large β (0.5) is worse, over the best",
            paper="above 1",
            figure=over_best([_method(alpha, BETAS[-1])], every),
            holds=at_least(_LOSS),
            reasons=either(_NEVER),
        ),
    )


def smallest_alphas(rows: pd.DataFrame) -> pd.Series:
    """Return, for each instance, the smallest alpha of the grid from which on no run loops.

    Left out are instances without a run of every alpha, and those that loop at the largest.
    """
    looped = {}
    for alpha in GRID:
        own = rows[rows["method"] == named(f"alpha-greedy(alpha={alpha})")]
        looped[alpha] = loops(own).groupby(own["instance_sha256"]).any()
    table = pd.DataFrame(looped).dropna()
    smallest = [_after_last(line) for line in table.to_numpy().tolist()]
    return pd.Series(smallest, index=table.index, dtype=float).dropna()


def _after_last(looped: list[bool]) -> float | None:
    last = max((place for place, each in enumerate(looped) if each), default=-1)
    return GRID[last + 1] if last + 1 < len(GRID) else None


def _loop_findings(demand: str) -> tuple[Finding, ...]:
    stated = _SMALLEST[demand]
    found: tuple[Finding, ...] = (
        Finding(
            claim="the smallest α without an endless loop, mean over the draws",
            paper=f"{stated}",
            figure=lambda rows: mean_of(smallest_alphas(rows)),
            holds=near(stated, 0.1),
            digits=3,
            reasons=either(_EDGE),
        ),
    )
    if demand == "high":
        found += (
            Finding(
                claim="α = 0.15 ends in an endless loop (J1 figure 7): share of runs",
                paper="1",
                figure=loop_share(["alpha-greedy(alpha=0.15)"]),
                holds=at_least(0.5),
                digits=2,
                reasons=either(_EDGE),
            ),
        )
    return found


def _whole_draws(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of draws on which half of the methods were run, so that means compare."""
    ran = rows.groupby("instance_sha256")["method"].transform("nunique")
    return rows[ran >= rows["method"].nunique() / 2]


def alpha_beta_table(rows: pd.DataFrame) -> Table:
    """Return the mean latency by alpha and beta."""
    rows = _whole_draws(rows)
    lines = []
    for alpha in ALPHAS:
        for beta in BETAS:
            found = costs(rows, _method(alpha, beta))
            own = rows[rows["method"] == named(_method(alpha, beta))]
            if len(found):
                ends = found[found < math.inf]
                evictions = own["evictions"].astype(float).mean()
                missing = len(found) - len(ends)
                lines.append((str(alpha), str(beta), ends.mean(), evictions, len(found), missing))
    names = ["α", "β", "mean latency (s)", "evictions a run", "runs", "no schedule"]
    note = (
        "Means over the runs with a schedule, of draws on which half of the methods were run; the "
        "others had not ended when their time was over."
    )
    kinds: Kinds = {"text": names[:2], "count": names[4:]}
    return plain_table("alpha-beta", "By α and β", note, names, lines, kinds)


def loop_table(rows: pd.DataFrame) -> Table:
    """Return how many runs loop at each alpha."""
    lines = []
    for alpha in GRID:
        own = rows[rows["method"] == named(f"alpha-greedy(alpha={alpha})")]
        if len(own):
            lines.append((f"{alpha:.2f}", len(own), int(loops(own).sum())))
    names = ["α", "runs", "loop for ever"]
    note = "Greedy admission below (1 − α)M, which clears all on overflow."
    return plain_table("loops", "Endless loops", note, names, lines, {"text": ["α"]}, "count")


def figure(rows: pd.DataFrame) -> str:
    """Draw latency against alpha (left) and beta (right), a row of panels for each section."""
    found = [name for name in dict.fromkeys(rows["section"]) if not name.startswith("loops")]
    looks = list(styles(["0.1", "0.2"]).values())
    with drawing(8.0, 2.6 * len(found)) as made:
        panels = made.figure.subplots(len(found), 2, squeeze=False)
        for (left, right), section in zip(panels, found, strict=True):
            own = _whole_draws(rows[rows["section"] == section])
            for look, fixed in zip(looks, FIXED_BETAS, strict=True):
                for axes, along, label, methods in (
                    (left, ALPHAS, f"β = {fixed}", [_method(alpha, fixed) for alpha in ALPHAS]),
                    (right, BETAS, f"α = {fixed}", [_method(fixed, beta) for beta in BETAS]),
                ):
                    means = [costs(own, method).mean() for method in methods]
                    curve = pd.Series(means, index=along).dropna()
                    axes.plot(curve.index, curve, "o-", ms=3, label=label, color=look["color"])
                    endless = curve[curve == math.inf].index
                    axes.plot(
                        endless,
                        [0.97] * len(endless),
                        "^",
                        color=look["color"],
                        transform=axes.get_xaxis_transform(),
                    )
                    axes.set_yscale("log")
                    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
                    axes.yaxis.set_minor_formatter(NullFormatter())
            demand, _, how = section.partition("-")
            left.set(
                title=f"{RATES[demand]} a second, {how.replace('-', ' ')}",
                ylabel="mean latency (s)",
                xlabel="α",
            )
            right.set_xlabel("β")
            left.legend()
            right.legend()
    return made.svg


def _parts(demand: str, how: str, kind: Kind) -> tuple[Part, ...]:
    note = "1.6 times the batch time" if how == "calibrated" else "the batch time as measured"
    about = f"{RATES[demand]} requests a second, {note}."
    name = f"{demand} demand, {how.replace('-', ' ')}"
    return (
        Part(
            f"α and β: {name}",
            kind,
            about,
            (f"{demand}-{how}",),
            (
                *(each for beta in FIXED_BETAS for each in _alpha_findings(demand, beta)),
                *(each for alpha in FIXED_ALPHAS for each in _beta_findings(demand, alpha)),
            ),
            (alpha_beta_table,),
        ),
        *(
            Part(
                f"The smallest α: {name}, {n:,} requests",
                kind,
                about,
                (f"{section}-{demand}-{how}",),
                _loop_findings(demand),
                (loop_table,),
            )
            for section, n in (("loops", _REQUESTS[demand]), ("loops-long", 10_000))
            if section == "loops" or how == "calibrated"
        ),
    )


PAGE = Page(
    slug="j2-sweeps",
    title="J2 figures 7, 8, 10 and 11: α, β and the smallest α without a loop",
    source="J2 (jaillet2025_v2) section 5.2.1 and Appendix C, J1 (jaillet2025_v1) section 7.",
    experiment="Mean latency against the share α of memory that admission leaves free, at β = 0.1 "
    "and 0.2, and against the chance β to be cleared, at α = 0.1 and 0.2; and a search in steps of "
    "0.01 for the smallest α at which clearing all requests does not loop for ever.",
    settings=(
        *SETTINGS[1:-1],
        (
            "requests",
            "LMSYS conversations, words; number not stated",
            "family `chat`: 1,000 at 50 a second, 2,000 at 10; for the smallest α 10,000, too",
        ),
        (
            "grids",
            "read off the figures",
            "α 0.05 to 0.4, β 0.01 to 0.5; the smallest α from 0.14, which stands for less, too",
        ),
        ("significantly worse", "no number", "by 5 % or more"),
    ),
    tolerances=(
        ("5 % for significantly worse", "no number is printed: our judgement"),
        ("a tenth around the smallest α", "two steps of 0.01, the paper's own step"),
    ),
    figure=figure,
    caption="Left α, right β; means over the runs, a triangle where one had not ended in its time.",
    parts=tuple(
        part
        for how, kind in KINDS.items()
        for demand in RATES
        for part in _parts(demand, how, kind)
    ),
)
