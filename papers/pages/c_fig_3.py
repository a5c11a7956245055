"""C figure 3: the ratio of A_min for geometric outputs."""

from itertools import pairwise

import pandas as pd

from papers.curves import draw_points, plain_table
from papers.experiment import Finding, PagePart, either, read_page
from papers.latency import Figure, latency_ratio
from papers.ledger.chen import geometric, stated_ratio
from papers.selected_rows import of_instances, ratios, restrict
from papers.span import Span, at_least, at_most, exactly, near
from reports.figures.figure_parts import drawing, styles
from reports.table import Table

#: p of the rows; q = 1 − p.
PS = (0.5, 0.2, 0.1, 0.05, 0.02)
_UPPER = 800
_CLOSE = 0.05
_LEMMA_1 = (
    "The curve is Lemma 2's quotient, which does not hold (errata E16): Lemma 1 miscounts "
    "cancelled requests.  Fewer cancellations have two effects: long requests delay short ones "
    "more, and less work is lost.  For q near 1, n is only 5 M."
)
_FLAT = "Beyond some q our ratios are level or fall.  M and n may be too small for such outputs."
_KINDS = {"geometric": (False, 1.7, "1.7"), "weighted": (True, 14 / 9, "1.56")}


def theorem_8(p: float) -> float:
    """Return the closed form for LG(p)."""
    q = 1 - p
    above = (1 + q) ** 2 * (1 + 3 * q + 6 * q**2 + 3 * q**3 + q**4)
    return above / (1 + 2 * q + 11 * q**2 + 8 * q**3 + 11 * q**4 + 2 * q**5 + q**6)


def stated(p: float, section: str) -> float:
    """Return Lemma 2's quotient, the drawn curve."""
    return stated_ratio(geometric(p, _UPPER, weighted=_KINDS[section][0]))


def _closed_form(rows: pd.DataFrame) -> Span:
    """Return the largest error of Theorem 8's closed form against the sums."""
    del rows
    errors = (abs(theorem_8(p) / stated(p, "weighted") - 1) for p in PS)
    return exactly(100 * max(errors))


def _at(p: float) -> Figure:
    return restrict(latency_ratio("a-min", "h-sf"), p=p)


def largest(rows: pd.DataFrame) -> Span | None:
    """Return the largest mean ratio of A_min to H-SF over q."""
    found = ratios(rows, "a-min", "h-sf")
    by_p = found.groupby(of_instances(rows, "p", found)).mean()
    return exactly(float(by_p.max())) if len(by_p) else None


def least_step(rows: pd.DataFrame) -> Span | None:
    """Return the least quotient of mean ratios at adjacent q, larger q over smaller."""
    spans = [_at(p)(rows) for p in PS]
    means = [span.value for span in spans if span is not None and span.value is not None]
    if len(means) < len(PS):
        return None
    return exactly(min(after / before for before, after in pairwise(means)))


def _findings(section: str) -> tuple[Finding, ...]:
    _, bound, printed = _KINDS[section]
    return (
        *(
            Finding(
                claim=f"q = {1 - p:g}: A_min over H-SF, mean quotient",
                paper=f"{stated(p, section):.3f}",
                figure=_at(p),
                holds=near(stated(p, section), _CLOSE),
                reasons=either(_LEMMA_1),
            )
            for p in PS
        ),
        Finding(
            claim="the ratio is bounded: the largest mean over q",
            paper=f"{printed} at most",
            figure=largest,
            holds=at_most(bound),
            reasons={"not reproduced": _LEMMA_1},
        ),
        Finding(
            claim="the ratio increases with q: the least quotient at adjacent q, larger by smaller",
            paper="above 1",
            figure=least_step,
            holds=at_least(1),
            reasons={"not reproduced": _FLAT},
        ),
    )


def table(rows: pd.DataFrame) -> Table:
    """Return stated and measured ratios by q."""
    section = str(rows["section"].iloc[0])
    found = ratios(rows, "a-min", "h-sf")
    keyed = of_instances(rows, "p", found)
    lines = [
        [1 - p, stated(p, section), *found[keyed == p].agg(["mean", "min", "max"])] for p in PS
    ]
    keys = ["q", "stated", "our mean", "least", "largest"]
    return plain_table(section, "Ratios by q", "Ratios to H-SF, over the draws.", keys, lines, {})


def figure(rows: pd.DataFrame) -> str:
    """Draw both panels: the stated curve against q, and every measured ratio."""
    looks = list(styles(["stated", "ours"]).values())
    with drawing(9, 3.6) as made:
        grid = made.figure.subplots(1, 2, sharey=True)
        for axes, section, title in zip(grid, _KINDS, ("G(p)", "LG(p)"), strict=True):
            curve = [1 - step / 50 for step in range(49, 0, -1)]
            axes.plot(curve, [stated(1 - q, section) for q in curve], label="stated", **looks[0])
            kept = rows[rows["section"] == section]
            found = ratios(kept, "a-min", "h-sf")
            measured = 1 - of_instances(kept, "p", found)
            draw_points(axes, measured, found, looks[1]["color"], "our A_min")
            axes.set(title=title, xlabel="q = 1 − p")
        grid[0].set_ylabel("TEL / TEL of H-SF")
        grid[0].legend()
    return made.svg


PAGE = read_page(
    "c-fig-3",
    figure=figure,
    parts=(
        PagePart(
            "G(p)",
            "reproduction",
            "Ties are drawn anew, as the paper says.",
            ("geometric",),
            _findings("geometric"),
            (table,),
        ),
        PagePart(
            "LG(p)",
            "reproduction",
            "Ties are drawn anew, as the paper says.",
            ("weighted",),
            (
                *_findings("weighted"),
                Finding(
                    claim="Theorem 8's closed form is Lemma 2's quotient: its largest error",
                    paper="0",
                    figure=_closed_form,
                    holds=at_most(0.1),
                    digits=3,
                    unit="%",
                ),
            ),
            (table,),
        ),
    ),
)
