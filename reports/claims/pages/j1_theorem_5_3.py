"""J1 Theorem 5.3: does the regret of MC-SF stay bounded as T grows?"""

from __future__ import annotations

import pandas as pd

from reports.claims.intervals import against_optimum, mean_between
from reports.claims.page import Finding, Page, Part
from reports.claims.span import Span, Verdict, at_most, quotient
from reports.figures.style import drawing, styles
from reports.table import Column, Table

#: Mean arrivals a round, and the rounds T with arrivals: more than the worker can serve, and less.
RATES = {"overloaded": (0.5, (50, 100, 200, 400)), "stable": (0.05, (100, 400, 1600))}
#: From the shortest to the longest T the regret may grow by this factor and still count as bounded.
_BOUNDED = 2.0

_GROWS = (
    "The lower end of the regret, against schedules that were found, grows about in proportion to "
    "T: MC-SF orders by output alone, and the share of latency that this costs does not vanish as "
    "the queue grows.  The proof couples MC-SF with the optimum after a bounded time, for which it "
    "gives no argument where memory is the limit."
)
_WIDE = "The interval of the optimum is too wide, or there are too few draws."


def regrets(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the regret of MC-SF (rounds a request) of each run: its ends, the rate, and T."""
    found = against_optimum(rows, "mc-sf")
    told = found["instance"].astype(str).str.extract(r"_rate(?P<rate>[\d.]+)_rounds(?P<T>\d+)")
    n = found["n"].astype(float)
    return pd.DataFrame(
        {
            "rate": told["rate"].astype(float),
            "T": told["T"].astype(float),
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


def _growth(name: str) -> Finding:
    rate, rounds = RATES[name]
    shortest, longest = rounds[0], rounds[-1]
    reasons: dict[Verdict, str] = {"does not": _GROWS, "cannot be told": _WIDE}
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
    kinds = {"T": "count", "draws": "count", "rate": "number"}
    columns = tuple(
        Column(key, title, kinds.get(key, "number"))  # type: ignore[arg-type]
        for key, title in names.items()
    )
    note = (
        "Rounds a request, means over the draws: against the best schedule known, and against the "
        "best bound."
    )
    return Table("regrets", "Regret", note, columns, frame)


def figure(rows: pd.DataFrame) -> str:
    """Draw the interval of the mean regret against T, a panel for each rate."""
    found = regrets(rows)
    with drawing(8.0, 3.2) as made:
        panels = made.figure.subplots(1, len(RATES))
        looks = list(styles(["low", "high"]).values())
        for axes, (name, (rate, _)) in zip(panels, RATES.items(), strict=True):
            means = found[found["rate"] == rate].groupby("T")[["low", "high"]].mean()
            for key, label, look in (
                ("low", "at least", looks[0]),
                ("high", "at most", looks[1]),
            ):
                axes.plot(means.index, means[key], "o-", ms=3, label=label, color=look["color"])
            axes.set_title(f"{name}, λ = {rate}", loc="left")
            axes.set_xlabel("T (rounds)")
            axes.set_ylim(bottom=0)
            axes.legend()
        panels[0].set_ylabel("mean regret (rounds)")
    return made.svg


PAGE = Page(
    slug="j1-theorem-5-3",
    title="J1 Theorem 5.3: the regret of MC-SF",
    source="J1 (jaillet2025_v1) section 5, Definition 5.1 and Theorem 5.3.",
    experiment="Under stationary arrivals from a bounded law over T rounds the expected average "
    "latency of MC-SF exceeds that of the optimum in hindsight by no more than a constant, whether "
    "the system is overloaded or stable.  J2 no longer has the statement.",
    settings=(
        (
            "arrivals",
            "any law of bounded support",
            "Poisson, λ = 0.5 (overloaded) and 0.05 (stable) a round",
        ),
        ("memory", "M", "40 tokens"),
        (
            "lengths",
            "equal prompts, outputs of any law",
            "family `am2`: s uniform on 1..5, o uniform on 1..M − s",
        ),
        (
            "bounded",
            "as T → ∞",
            f"at most {_BOUNDED:g} times as much at the longest T as at the "
            "shortest; no finite T refutes a constant",
        ),
        ("optimum", "", "an interval: the best schedule known and the best bound"),
    ),
    suite="paper-j1-regret",
    figure=figure,
    caption="Means over the draws.",
    parts=(
        Part(
            "Regret against T",
            "reproduction",
            "Prompts are not equal here, as the theorem has them.",
            ("policy", "hindsight", "short"),
            tuple(_growth(name) for name in RATES),
            (table,),
        ),
    ),
)
