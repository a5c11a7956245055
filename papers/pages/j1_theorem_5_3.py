"""J1 Theorem 5.3: does the regret of MC-SF stay bounded as T grows?"""

from __future__ import annotations

import pandas as pd

from papers.curves import plain_table
from papers.experiment import Finding, Page, Part
from papers.intervals import against_optimum, mean_between
from papers.span import Span, Verdict, at_most, quotient
from reports.figures.style import drawing, styles
from reports.table import Table

Setting = dict[str, tuple[float, tuple[int, ...]]]

#: Mean arrivals a round, and the rounds T with arrivals: more than the worker can serve, and less.
EQUAL: Setting = {"overloaded": (1.0, (50, 100, 200, 400)), "stable": (0.2, (100, 400, 1600))}
UNEQUAL: Setting = {"overloaded": (0.5, (50, 100, 200, 400)), "stable": (0.05, (100, 400, 1600))}
#: From the shortest to the longest T the regret may grow by this factor and still count as bounded.
_BOUNDED = 2.0

_GROWS = (
    "The lower end of the regret, against schedules that were found, grows with T: a share of the "
    "latency is lost that does not vanish as the queue grows."
)
_WIDE = "The interval of the optimum is too wide, or there are too few draws."


def regrets(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the regret of MC-SF (rounds a request) of each run: its ends, the rate, and T."""
    found = against_optimum(rows, "mc-sf")
    names, n = found["instance"].astype(str), found["n"].astype(float)
    rate = names.str.extract(r"_rate([\d.]+)", expand=False).astype(float)
    # Where n is given, its arrivals take n / λ rounds on average.
    stated = names.str.extract(r"_rounds(\d+)", expand=False).astype(float)
    return pd.DataFrame(
        {
            "rate": rate,
            "T": stated.fillna((n / rate).round()),
            "n": n,
            "ael": found["tel"].astype(float) / n,
            "low": (found["tel"] - found["upper"]).astype(float) / n,
            "high": (found["tel"] - found["lower"]).astype(float) / n,
        }
    )


def _mean(rows: pd.DataFrame, rate: float, rounds: int) -> Span | None:
    own = regrets(rows)
    own = own[(own["rate"] == rate) & (own["T"] == rounds)]
    return mean_between(own["low"], own["high"])


def _growth(name: str, rate: float, rounds: tuple[int, ...]) -> Finding:
    shortest, longest = rounds[0], rounds[-1]
    reasons: dict[Verdict, str] = {"not reproduced": _GROWS, "undecided": _WIDE}
    return Finding(
        claim=f"{name} (λ = {rate}): the mean regret stays bounded, that at T = {longest} over "
        f"that at T = {shortest}",
        paper="bounded by a constant",
        figure=lambda rows: quotient(_mean(rows, rate, longest), _mean(rows, rate, shortest)),
        holds=at_most(_BOUNDED),
        digits=2,
        reasons=reasons,
    )


def table(rows: pd.DataFrame) -> Table:
    """Return the mean regret by rate and T."""
    found = regrets(rows).groupby(["rate", "T"])
    frame = found[["n", "ael", "low", "high"]].mean().reset_index()
    frame["draws"] = found.size().to_numpy()
    names = {
        "rate": "λ",
        "T": "T",
        "draws": "draws",
        "n": "n (mean)",
        "ael": "AEL of MC-SF",
        "low": "regret at least",
        "high": "at most",
    }
    frame = frame.rename(columns=names)
    note = (
        "Rounds a request, means over the draws: against the best schedule known, and against the "
        "best bound."
    )
    keys = list(names.values())
    return plain_table("regrets", "Regret", note, keys, frame, {"count": ["T", "draws"]})


def figure(rows: pd.DataFrame) -> str:
    """Draw the interval of the mean regret against T, a panel for each rate."""
    found = regrets(rows)
    shown = [
        (name, rate)
        for setting in (EQUAL, UNEQUAL)
        for name, (rate, _) in setting.items()
        if found["rate"].eq(rate).any()
    ]
    with drawing(3.0 * len(shown), 3.2) as made:
        panels = made.figure.subplots(1, len(shown), squeeze=False)[0]
        looks = list(styles(["low", "high"]).values())
        for axes, (name, rate) in zip(panels, shown, strict=True):
            means = found[found["rate"] == rate].groupby("T")[["low", "high"]].mean()
            for key, label, look in (("low", "at least", looks[0]), ("high", "at most", looks[1])):
                axes.plot(means.index, means[key], "o-", ms=3, label=label, color=look["color"])
            axes.set(title=f"{name}, λ = {rate}", xlabel="T (rounds)", ylim=(0, None))
            axes.legend()
        panels[0].set_ylabel("mean regret (rounds)")
    return made.svg


PAGE = Page(
    slug="j1-theorem-5-3",
    title="J1 Theorem 5.3: the regret of MC-SF",
    source="J1 (jaillet2025_v1) section 5, Definition 5.1 and Theorem 5.3.",
    experiment="Under stationary arrivals from a bounded law over T rounds the expected average "
    "latency of MC-SF exceeds that of the optimum in hindsight by no more than a constant, whether "
    "the system is overloaded or stable.  That is false, by another law of arrivals "
    "(erratum E17); here it is measured under arrivals at random.  J2 no longer has the statement.",
    settings=(
        ("arrivals", "any law of bounded support", "Poisson, λ a round, over T rounds"),
        ("memory", "M", "40 tokens"),
        (
            "bounded",
            "as T → ∞",
            f"at most {_BOUNDED:g} times as much at the longest T as at the "
            "shortest; measurements at finite T refute no constant",
        ),
        ("optimum", "", "an interval: the best schedule known and the best bound"),
    ),
    tolerances=(
        (
            f"a factor of {_BOUNDED:g} for bounded",
            "our judgement: T is four to sixteen times as long",
        ),
    ),
    figure=figure,
    caption="Means over the draws.",
    parts=(
        Part(
            "Equal prompts",
            "reproduction",
            "Prompts of one token, outputs geometric with p = 0.08 on 1..35 (family `geometric`).",
            ("equal-prompts", "equal-prompts-short"),
            tuple(_growth(name, *setting) for name, setting in EQUAL.items()),
            (table,),
        ),
        Part(
            "Prompts that differ",
            "reproduction",
            "Beyond the theorem, whose prompts are equal: prompts of 1 to 5 tokens, outputs "
            "uniform on 1..M − s (family `am2`).",
            ("policy", "hindsight", "short"),
            tuple(_growth(name, *setting) for name, setting in UNEQUAL.items()),
            (table,),
        ),
    ),
)
