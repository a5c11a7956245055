"""Ratios of a policy to the optimum: a certified interval per draw."""

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pandas as pd

from kvopt.best_known import known_values
from papers.latency import method_text
from papers.span import Span, mean_of
from reports.stored_results import Results


@cache
def _registry() -> dict[str, dict[str, Any]]:
    return known_values()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as a cache key: equal if they are one object, as for all findings of a part."""

    frame: pd.DataFrame

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and self.frame is other.frame

    def __hash__(self) -> int:
        return id(self.frame)


def against_optimum(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the interval of TEL/OPT for each of a method's runs with a schedule and a bound.

    Columns: instance, family, n, tel, upper, lower (rounds), low and high (TEL/OPT), known (OPT).
    Bounds are the best of the part's rows and the registry.
    """
    return _against_optimum(_Rows(rows), method).copy()


@lru_cache(maxsize=4)
def _against_optimum(kept: _Rows, method: str) -> pd.DataFrame:
    rows = kept.frame
    if rows.empty:
        return pd.DataFrame(columns=["instance", "family", "n", "tel", "upper", "lower", *_ADDED])
    keyed = rows.assign(key=[str(place) for place in range(len(rows))])
    runs = Results(keyed, _registry()).runs
    ran = runs[(runs["method"] == method_text(method)) & runs["ratio_high"].notna()]
    ran = ran.rename(columns={"ratio_low": "low", "ratio_high": "high"})
    return ran[["instance", "family", "n", "tel", "upper", "lower", *_ADDED]].reset_index(drop=True)


_ADDED = ["low", "high", "known"]


def mean_between(low: pd.Series, high: pd.Series) -> Span | None:
    """Return the span of the mean of intervals, with the confidence of independent draws.

    It has an estimate only if every interval is a point.
    """
    ends = mean_of(low.astype(float)), mean_of(high.astype(float))
    if ends[0] is None or ends[1] is None:
        return None
    same = math.isclose(ends[0].value or 0, ends[1].value or 0, rel_tol=1e-12)
    return Span(ends[0].low, ends[1].high, ends[0].value if same else None)
