"""Traps: ratios of policies on provably bad instances, as M grows."""

from collections.abc import Callable

import pandas as pd

from papers.curves import plain_table
from papers.experiment import Finding, PagePart, read_page
from papers.latency import Figure, method_text
from papers.span import Span, at_least, exactly, near
from reports.figures.figure_parts import drawing, styles
from reports.table import Table

_BEST = "svf"
#: Policy, family, and exponent of its number of requests in M, by curve.
_CURVES = {
    "MC-SF, W Theorem 2.1": ("mc-sf", "mcsf-trap", ""),
    "smallest s + o, W Theorem 8.2 as printed": ("mc-sf-total", "total-trap", "1.5"),
    "the same with M^1.25 requests": ("mc-sf-total", "total-trap", "1.25"),
}
_PRINTED, _MENDED = list(_CURVES)[1:]
_E6 = "Errata E6: as printed the ratio tends to 3; with M^1.25 requests it grows."
_E19 = "Errata E19: the algebra of the printed quotient fails."


def _tel(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return TEL by memory; seeds are averaged."""
    kept = rows[rows["method"] == method_text(method)]
    found: pd.Series = kept["tel"].astype(float).groupby(kept["memory"].astype(int)).mean()
    return found


def ratios(rows: pd.DataFrame, curve: str) -> pd.Series:
    """Return a policy's TEL over TEL of smallest volume first, by memory."""
    method, family, growth = _CURVES[curve]
    kept = rows[rows["family"] == family]
    method_text = kept["instance"].astype(str).str.extract(r"_growth([\d.]+)", expand=False)
    kept = kept[method_text.fillna("1.5").eq(growth)] if growth else kept
    return (_tel(kept, method) / _tel(kept, _BEST)).dropna()


def _of(curve: str, take: Callable[[pd.Series], float]) -> Figure:
    def figure(rows: pd.DataFrame) -> Span | None:
        found = ratios(rows, curve)
        return exactly(float(take(found))) if len(found) > 1 else None

    return figure


def _example(method: str) -> Figure:
    def figure(rows: pd.DataFrame) -> Span | None:
        found = _tel(rows[rows["instance"] == "example_3_1"], method)
        return exactly(float(found.iloc[0])) if len(found) else None

    return figure


def _over_stated(rows: pd.DataFrame) -> Span | None:
    """Return A_max's least ratio to H-SF over the stated ratio, α = 2/u."""
    upper = rows["instance"].astype(str).str.extract(r"_upper(\d+)", expand=False).astype(float)
    kept = rows.assign(memory=upper)[upper.notna()] if len(rows) else rows
    found = (_tel(kept, "a-max") / _tel(kept, "h-sf")).dropna() if len(kept) else pd.Series()
    stated = [u / 2 * (1 + (u / 2) ** 0.5) / 2 for u in found.index]
    return exactly(float((found / stated).min())) if len(found) else None


_FINDINGS = (
    Finding("W Example 3.1: MC-SF", "64", _example("mc-sf"), near(64, 0), digits=0),
    Finding("W Example 3.1: Sorted-F", "45", _example("sorted-f-swap"), near(45, 0), digits=0),
    Finding(
        "W Theorem 2.1: MC-SF over smallest volume, at the largest M over M = 16",
        "grows without end",
        _of(next(iter(_CURVES)), lambda found: found.iloc[-1] / found.iloc[0]),
        at_least(1.01),
    ),
    Finding(
        "W Theorem 8.2 as printed: the ratio over 2/3·√M, the least over M",
        "1 at least",
        _of(_PRINTED, lambda found: min(found / (2 / 3 * found.index.to_numpy() ** 0.5))),
        at_least(1),
        reasons={"not reproduced": _E6},
    ),
    Finding(
        "W Theorem 8.2 with M^1.25 requests: at the largest M over M = 16",
        "grows without end",
        _of(_MENDED, lambda found: found.iloc[-1] / found.iloc[0]),
        at_least(1.01),
    ),
)
_A_MAX = Finding(
    "C Theorem 2: A_max over H-SF, over (1/α)(1 + 1/√α)/2, the least over u",
    "1 at least",
    _over_stated,
    at_least(1),
    reasons={"not reproduced": _E19},
)


def table(rows: pd.DataFrame) -> Table:
    """Return TEL of each policy by instance (rounds)."""
    frame = rows.pivot_table(index=["instance", "memory", "n"], columns="method", values="tel")
    frame = frame.reset_index().rename_axis(None, axis=1).sort_values(["instance", "memory"])
    return plain_table(
        "tels", "TEL", "Rounds.", list(frame), frame, {"text": ["instance"]}, other="count"
    )


def figure(rows: pd.DataFrame) -> str:
    """Draw each ratio against M."""
    with drawing(7, 4) as made:
        axes = made.figure.subplots()
        for (name, look), marker in zip(styles(list(_CURVES)).items(), "osD", strict=True):
            found = ratios(rows, name)
            axes.plot(found.index, found, marker=marker, ms=4, label=name, **look)
        axes.set(
            xscale="log",
            xlabel="M (tokens)",
            ylabel="TEL over smallest volume first",
            ylim=(0, None),
        )
        axes.legend()
    return made.svg


PAGE = read_page(
    "traps",
    figure=figure,
    parts=(
        PagePart(
            "Orders",
            "reproduction",
            "Every policy at its defaults.",
            ("order",),
            _FINDINGS,
            (table,),
        ),
        PagePart("Wide predictions", "reproduction", "Five orders a point.", ("amax",), (_A_MAX,)),
    ),
)
