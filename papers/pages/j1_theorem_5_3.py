"""J1 Theorem 5.3: regret of MC-SF as T grows."""

import pandas as pd

from papers.curves import plain_table
from papers.experiment import Finding, PagePart, read_page
from papers.intervals import against_optimum, mean_between
from papers.span import FindingVerdict, Span, at_most, quotient
from reports.figures.figure_parts import drawing, styles
from reports.table import Table

Setting = dict[str, tuple[float, tuple[int, ...]]]

#: Mean arrivals a round and rounds T with arrivals, above and below the worker's capacity.
EQUAL: Setting = {"overloaded": (1.0, (50, 100, 200, 400)), "stable": (0.2, (100, 400, 1600))}
UNEQUAL: Setting = {"overloaded": (0.5, (50, 100, 200, 400)), "stable": (0.05, (100, 400, 1600))}
#: Largest growth of a bounded regret from the shortest to the longest T.
_BOUNDED = 2.0

_GROWS = (
    "The lower end of the regret, against known schedules, grows with T: MC-SF loses a share of "
    "the latency that does not vanish as the queue grows."
)
_WIDE = "The interval of the optimum is too wide, or there are too few draws."


def regrets(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by run: interval of MC-SF's regret (rounds a request), rate, T."""
    found = against_optimum(rows, "mc-sf")
    names, n = found["instance"].astype(str), found["n"].astype(float)
    rate = names.str.extract(r"_rate([\d.]+)", expand=False).astype(float)
    # Given n, arrivals take n / λ rounds on average.
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
    kept = regrets(rows)
    kept = kept[(kept["rate"] == rate) & (kept["T"] == rounds)]
    return mean_between(kept["low"], kept["high"])


def _growth(name: str, rate: float, rounds: tuple[int, ...]) -> Finding:
    shortest, longest = rounds[0], rounds[-1]
    reasons: dict[FindingVerdict, str] = {"not reproduced": _GROWS, "undecided": _WIDE}
    return Finding(
        claim=f"{name} (λ = {rate}): the mean regret stays bounded, regret at T = {longest} over "
        f"regret at T = {shortest}",
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
        "Rounds a request, means over the draws, against the best known schedule and against the "
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


PAGE = read_page(
    "j1-theorem-5-3",
    figure=figure,
    parts=(
        PagePart(
            "Equal prompts",
            "reproduction",
            "Prompts of one token, outputs geometric with p = 0.08 on 1..35 (family `geometric`).",
            ("equal-prompts", "equal-prompts-short"),
            tuple(_growth(name, *setting) for name, setting in EQUAL.items()),
            (table,),
        ),
        PagePart(
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
