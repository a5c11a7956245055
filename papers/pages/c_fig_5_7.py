"""C figures 5 to 7: mean latency with three kinds of predictions."""

from functools import partial

import pandas as pd

from papers.curves import draw_curves, latency_table
from papers.experiment import Finding, PagePart, either, read_page
from papers.latency import latency_ratio
from papers.selected_rows import restrict
from papers.span import Span, at_least, at_most, near
from reports.figures.figure_parts import drawing

MOST = 2000
_H = "h-sf"
PREDICTIONS = {
    "interval(1,1000)": "[1, 1000]",
    "bins(100)": "bins of 100",
    "relative(0.1)": "x = 0.1",
    "relative(0.95)": "x = 0.95",
    "relative(0.99)": "x = 0.99",
}
_ONE, _BINS, *_RELATIVE = PREDICTIONS
#: Our tolerances for "nearly identical", "close", "well"; for "significantly"; for "nearly".
_CLOSE, _CLEAR, _NEARLY = 0.1, 0.1, 0.2

_NOT_AS_MUCH = (
    "With [1, 1000] all requests look alike until they are cancelled, so their order is random at "
    "first.  If completed requests leave room, no request is cancelled and A_min learns nothing "
    "(errata E16).  A_max is at seven times H-SF, so A_min looks near."
)
_RELATIVE_BOUND = (
    "With x near 1 the lower end is 1 to 5 % of the output and orders nothing.  Errata E16, on "
    "one interval, holds here, too."
)
_AT_THE_EDGE = "The mean is within 10 %, some draws are outside."
_BY_UPPER = (
    "By upper ends A_max is nearly shortest first for any x, as (1 + x)o grows with o.  Lower ends "
    "near 0 order little for A_min.  The random order reproduces these findings, but then A_max is "
    "not good with x = 0.1: no reading gives all of figure 7."
)
_HALF = (
    "Here it falls to less than a third.  With [1, 1000] only 16 requests fit, so bins improve "
    "A_max more.  The text does not state the scale of the paper's latencies."
)
_RANDOM = (
    "A_max draws its order at random, as Algorithm 1 says for equal intervals.  Precise upper ends "
    "then save memory and order nothing."
)
_NO_NUMBER = "curves only"


def _over(method: str, other: str, holds: Span, claim: str, reason: str = "") -> Finding:
    return Finding(
        claim=f"{claim}: mean quotient of latencies at {MOST:,} requests",
        paper=_NO_NUMBER,
        figure=restrict(latency_ratio(method, other), n=MOST),
        holds=holds,
        reasons=either(reason) if reason else {},
    )


def _a_min() -> tuple[Finding, ...]:
    near_best = at_most(1 + _CLOSE)
    names = {name: f"a-min with {name}" for name in PREDICTIONS}
    wanted = (
        (_ONE, "figure 5: A_min with [1, 1000] is nearly identical to H-SF", _NOT_AS_MUCH),
        (_BINS, "figure 6: A_min with bins is close to H-SF", _AT_THE_EDGE),
        (_RELATIVE[0], "figure 7: A_min with x = 0.1 performs well", _AT_THE_EDGE),
        (_RELATIVE[1], "figure 7: A_min with x = 0.95 stays close to H-SF", _RELATIVE_BOUND),
        (_RELATIVE[2], "figure 7: A_min with x = 0.99 stays close to H-SF", _RELATIVE_BOUND),
    )
    claim = "figure 6: bins are better for A_min than [1, 1000]"
    return (
        *(
            _over(names[name], _H, near_best, f"{text} (within 10 %)", reason)
            for name, text, reason in wanted
        ),
        _over(names[_BINS], names[_ONE], at_most(1), claim),
    )


def _a_max(name: str, reason: str) -> tuple[Finding, ...]:
    one = f"a-max with {_ONE}"
    names = {each: f"{name} with {each}" for each in PREDICTIONS}
    return (
        _over(one, _H, at_least(2), "figure 5: A_max with [1, 1000] is far above H-SF (twice)"),
        _over(
            names[_BINS],
            one,
            near(0.5, _NEARLY),
            "figure 6: bins nearly halve A_max (0.4 to 0.6)",
            _HALF,
        ),
        _over(
            names[_RELATIVE[0]],
            _H,
            at_most(1 + _CLOSE),
            "figure 7: A_max with x = 0.1 performs well (within 10 % of H-SF)",
            reason,
        ),
        *(
            _over(
                names[each],
                names[_RELATIVE[0]],
                at_least(1 + _CLEAR),
                f"figure 7: A_max with "
                f"{PREDICTIONS[each]} is significantly worse (10 %) than with x = 0.1",
                reason,
            )
            for each in _RELATIVE[1:]
        ),
        *(
            _over(
                names[each],
                f"a-min with {each}",
                at_least(1),
                f"figure 7: A_max is worse than A_min with {PREDICTIONS[each]}",
                reason,
            )
            for each in _RELATIVE[1:]
        ),
    )


def _labels(prefix: str, label: str) -> dict[str, str]:
    return {f"{prefix} with {name}": f"{label}, {text}" for name, text in PREDICTIONS.items()}


_MIN_LABELS = {_H: "H-SF"} | _labels("a-min", "A_min")
_MAX_LABELS = {_H: "H-SF"} | _labels("a-max", "A_max")
_UPPER_LABELS = {
    _H: "H-SF",
    **{
        f"a-max(order=upper) with {name}": f"A_max by upper ends, {text}"
        for name, text in PREDICTIONS.items()
        if name != _ONE
    },
}


def figure(rows: pd.DataFrame) -> str:
    """Draw a panel for each figure of the paper."""
    panels = (
        ("figure 5: [1, 1000]", [_ONE]),
        ("figure 6: bins of 100", [_BINS]),
        ("figure 7: relative", [_RELATIVE[0], _RELATIVE[2]]),
    )
    every = _MIN_LABELS | _MAX_LABELS | _UPPER_LABELS
    with drawing(12, 5.4) as made:
        grid = made.figure.subplots(1, len(panels))
        for axes, (title, names) in zip(grid, panels, strict=True):
            of = [name for name in every if any(name.endswith(each) for each in names)]
            shown = {name: every[name] for name in (_H, *of)}
            draw_curves(axes, rows, shown)
            axes.set(title=title)
        grid[0].set_ylabel("mean latency (s)")
    return made.svg


PAGE = read_page(
    "c-fig-5-7",
    figure=figure,
    parts=(
        PagePart(
            "A_min",
            "reproduction",
            "Ties are drawn anew, as the paper says.",
            ("seconds",),
            _a_min(),
            (partial(latency_table, labels=_MIN_LABELS),),
        ),
        PagePart(
            "A_max in random order",
            "reproduction",
            "As Algorithm 1 says for one interval.",
            ("seconds",),
            _a_max("a-max", _RANDOM),
            (partial(latency_table, labels=_MAX_LABELS),),
        ),
        PagePart(
            "A_max by upper ends",
            "other reading",
            "The paper states its algorithm for one interval.  If intervals differ, a largest set "
            "takes the smallest upper ends first.  With [1, 1000] nothing changes.",
            ("seconds",),
            _a_max("a-max(order=upper)", _BY_UPPER),
            (partial(latency_table, labels=_UPPER_LABELS),),
        ),
    ),
)
