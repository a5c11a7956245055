"""A policy against the optimum: certified intervals by the rule of evidence, draw by draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pandas as pd

from kvopt.best_known import known_values
from papers.latency import named
from papers.span import Span, mean_of
from reports.results import Results


@cache
def _registry() -> dict[str, dict[str, Any]]:
    return known_values()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that are the same where they are one object: every finding of a part gets that."""

    frame: pd.DataFrame

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and self.frame is other.frame

    def __hash__(self) -> int:
        return id(self.frame)


def against_optimum(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return what is known of a method's runs against OPT, one line a run with a schedule.

    Columns instance, family, n, tel, upper, lower (rounds, the best of all rows of the part and of
    the registry), low and high (the ends of TEL/OPT), known (OPT is). Runs on instances without a
    bound are left out.
    """
    return _against_optimum(_Rows(rows), method).copy()


@lru_cache(maxsize=4)
def _against_optimum(kept: _Rows, method: str) -> pd.DataFrame:
    rows = kept.frame
    if rows.empty:
        return pd.DataFrame(columns=["instance", "family", "n", "tel", "upper", "lower", *_ADDED])
    keyed = rows.assign(key=[str(place) for place in range(len(rows))])
    runs = Results(keyed, _registry()).runs
    own = runs[(runs["method"] == named(method)) & runs["ratio_high"].notna()]
    own = own.rename(columns={"ratio_low": "low", "ratio_high": "high"})
    return own[["instance", "family", "n", "tel", "upper", "lower", *_ADDED]].reset_index(drop=True)


_ADDED = ["low", "high", "known"]


def mean_between(low: pd.Series, high: pd.Series) -> Span | None:
    """Return where the mean of figures is that are each known to be in an interval.

    Both the intervals and the confidence of independent draws are in the span; there is no estimate
    but where every interval is a point.
    """
    ends = mean_of(low.astype(float)), mean_of(high.astype(float))
    if ends[0] is None or ends[1] is None:
        return None
    same = math.isclose(ends[0].value or 0, ends[1].value or 0, rel_tol=1e-12)
    return Span(ends[0].low, ends[1].high, ends[0].value if same else None)
