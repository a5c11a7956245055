"""What is known of each instance: best schedule, best bound, whether that is the optimum.

Bounds and schedules are about schedules that are not preempted (DESIGN section 1).  A policy that
keeps tokens over an eviction solves an easier problem, so its TEL is never an upper bound here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

#: ``opt``: by construction, by the registry, or by two engines that share no model code.
#: ``closed``: LB = UB, shown by one engine.  ``open``: LB < UB, or one of them missing.
#: ``none``: no schedule at all.  ``contradiction``: a bound above a checked schedule.
STANDINGS = ("opt", "closed", "open", "none", "contradiction")


@dataclass(frozen=True)
class Contradiction:
    """Two statements on one instance that cannot both be true: ``lower`` > ``upper`` (rounds)."""

    instance: str
    sha: str
    lower: int
    lower_by: str
    upper: int
    upper_by: str

    def __str__(self) -> str:
        return (
            f"{self.instance}: the bound {self.lower} of {self.lower_by} exceeds "
            f"the schedule {self.upper} of {self.upper_by}"
        )


def references(rows: pd.DataFrame, best_known: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return one line an instance, indexed by ``id``.

    Parameters
    ----------
    rows
        From :func:`reports.rows.prepare`.
    best_known
        By the hash of the instance: ``upper_bound``, ``lower_bound`` (rounds or None),
        ``upper_by``, ``lower_by`` (text), ``opt`` (bool) and ``history`` (list).

    Returns
    -------
    pandas.DataFrame
        Columns sha, instance, family, n, memory, upper, upper_by, upper_key, lower, lower_by, opt
        (rounds, missing where open) and standing.
    """
    upper = _best_upper(rows)
    lower = _best_lower(rows)
    told = _told(rows, best_known or {})
    known = rows.groupby("sha")["known_optimum"].min()
    by_hash = pd.DataFrame(index=pd.Index(rows["sha"].unique(), name="sha"))
    by_hash = by_hash.join([upper, lower, told]).assign(known=known.astype("Int64"))
    _take_better(by_hash, "upper", by_hash["told_upper"] < by_hash["upper"])
    _take_better(by_hash, "lower", by_hash["told_lower"] > by_hash["lower"])
    by_hash["engines"] = _proofs(rows, by_hash).reindex(by_hash.index).fillna(0).astype(int)
    by_hash = _with_standing(by_hash)
    instances = rows.drop_duplicates("id")[["id", "sha", "instance", "family", "n", "memory"]]
    kept = ["upper", "upper_by", "upper_key", "lower", "lower_by", "known", "opt", "standing"]
    return instances.join(by_hash[kept], on="sha").set_index("id")


def contradictions(
    rows: pd.DataFrame, best_known: Mapping[str, Any] | None = None
) -> list[Contradiction]:
    """Return every believed bound that exceeds the best checked schedule of its instance.

    Bounds that :func:`reports.rows.prepare` does not believe do not count in the first place; known
    optima and the registry's values are statements like any other.
    """
    upper = _best_upper(rows)
    told = _told(rows, best_known or {})
    known = rows.dropna(subset="known_optimum").drop_duplicates(["sha", "known_optimum"])
    uppers = pd.concat(
        [
            upper.reset_index()[["sha", "upper", "upper_by"]],
            _statement(told.reset_index(), "told_upper", "told_upper_by", "upper"),
            known.assign(upper=known["known_optimum"], upper_by="the known optimum")[
                ["sha", "upper", "upper_by"]
            ],
        ]
    ).dropna(subset="upper")
    least = uppers.sort_values(["sha", "upper", "upper_by"]).drop_duplicates("sha")
    claims = _believed(rows)[["sha", "lower_bound", "label"]]
    lowers = pd.concat(
        [
            claims.set_axis(["sha", "lower", "lower_by"], axis=1),
            _statement(told.reset_index(), "told_lower", "told_lower_by", "lower"),
            known.assign(lower=known["known_optimum"], lower_by="the known optimum")[
                ["sha", "lower", "lower_by"]
            ],
        ]
    ).dropna(subset="lower")
    both = lowers.merge(least, on="sha")
    wrong = both[both["lower"] > both["upper"]]
    names = rows.drop_duplicates("sha").set_index("sha")["instance"]
    wrong = wrong.assign(instance=wrong["sha"].map(names)).drop_duplicates()
    wrong = wrong.sort_values(["instance", "sha", "lower", "lower_by"])
    columns = wrong[["instance", "sha", "lower", "lower_by", "upper", "upper_by"]]
    return [
        Contradiction(str(name), str(sha), int(low), str(low_by), int(high), str(high_by))
        for name, sha, low, low_by, high, high_by in columns.to_numpy(dtype=object).tolist()
    ]


def _statement(told: pd.DataFrame, value: str, by: str, name: str) -> pd.DataFrame:
    return told[["sha", value, by]].set_axis(["sha", name, f"{name}_by"], axis=1)


def _believed(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["lower_bound"].gt(0).fillna(False) & rows["believed"]]


def _best_upper(rows: pd.DataFrame) -> pd.DataFrame:
    found = rows[rows["tel"].notna() & ~rows["preempts"]]
    # Of equals the quickest is named: an engine begins with what a policy has found.
    order = ["sha", "tel", "seconds", "label", "seed", "key"]
    best = found.sort_values(order).drop_duplicates("sha")
    return best.set_index("sha")[["tel", "label", "key"]].set_axis(
        ["upper", "upper_by", "upper_key"], axis=1
    )


def _best_lower(rows: pd.DataFrame) -> pd.DataFrame:
    claimed = _believed(rows).sort_values(
        ["sha", "lower_bound", "seconds", "label", "seed", "key"],
        ascending=[True, False, True, True, True, True],
    )
    best = claimed.drop_duplicates("sha").set_index("sha")
    source = best["bound_source"]
    best["label"] = best["label"].where(source.eq(""), source + ", " + best["label"])
    return best[["lower_bound", "label"]].set_axis(["lower", "lower_by"], axis=1)


def _told(rows: pd.DataFrame, best_known: Mapping[str, Any]) -> pd.DataFrame:
    hashes = [sha for sha in rows["sha"].unique() if sha in best_known]
    entries = [best_known[sha] for sha in hashes]
    columns: dict[str, Any] = {
        "told_upper": pd.array([each.get("upper_bound") for each in entries], dtype="Int64"),
        "told_lower": pd.array([each.get("lower_bound") for each in entries], dtype="Int64"),
        "told_upper_by": [_registry(each.get("upper_by")) for each in entries],
        "told_lower_by": [_registry(each.get("lower_by")) for each in entries],
        "told_opt": np.array([bool(each.get("opt")) for each in entries], dtype=bool),
    }
    return pd.DataFrame(columns, index=pd.Index(hashes, name="sha", dtype=object))


def _registry(method: object) -> str:
    return f"{method} (registry)" if method else "the registry"


def _take_better(by_hash: pd.DataFrame, side: str, better: pd.Series) -> None:
    told = by_hash[f"told_{side}"]
    taken = told.notna() & (by_hash[side].isna() | better.fillna(False))
    by_hash[side] = by_hash[side].where(~taken, told)
    by_hash[f"{side}_by"] = by_hash[f"{side}_by"].where(~taken, by_hash[f"told_{side}_by"])
    if side == "upper":
        by_hash["upper_key"] = by_hash["upper_key"].where(~taken, "")


def _proofs(rows: pd.DataFrame, by_hash: pd.DataFrame) -> pd.Series:
    """Count the engines that closed an instance by themselves, without a bound that they share."""
    claims = _believed(rows)
    upper = claims["sha"].map(by_hash["upper"])
    proved = claims[claims["engine"] & claims["lower_bound"].eq(upper).fillna(False)]
    engine = proved["method"].str.extract(r"^\s*([A-Za-z0-9_.+-]*)", expand=False)
    # The same certificate inside two engines is one proof.
    proofs = proved.assign(engine_name=engine)
    return proofs.groupby("sha")[["engine_name", "bound_source"]].nunique().min(axis=1)


def _with_standing(by_hash: pd.DataFrame) -> pd.DataFrame:
    upper, lower, known = by_hash["upper"], by_hash["lower"], by_hash["known"]
    least = pd.concat([upper, known], axis=1).min(axis=1).astype("Int64")
    most = pd.concat([lower, known], axis=1).max(axis=1).astype("Int64")
    wrong = most.gt(least).fillna(False)
    closed = upper.eq(lower).fillna(False)
    told = by_hash["told_opt"].fillna(False).astype(bool) & closed
    sure = known.notna() | told | (closed & by_hash["engines"].ge(2))
    # A known optimum is both bounds, whatever the runs have reached.
    by_hash["upper_found"] = upper
    by_hash["opt"] = known.where(known.notna(), upper.where(closed)).mask(wrong)
    by_hash["lower"] = lower.where(known.isna(), known).mask(wrong)
    by_hash["lower_by"] = by_hash["lower_by"].where(known.isna(), "construction")
    by_hash["standing"] = np.select(
        [wrong, sure, closed, upper.isna()],
        ["contradiction", "opt", "closed", "none"],
        default="open",
    )
    for column in ("upper_by", "lower_by", "upper_key"):
        by_hash[column] = by_hash[column].fillna("").astype(object)
    return by_hash
