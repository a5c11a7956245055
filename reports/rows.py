"""The rows of a store as all tables want them: every column there, of one type, in one order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from heuristics.registry import policies
from kvopt.methods.engines import named_engines
from kvopt.methods.knowledge import MARK, only_bounds, shown_methods, token_keeping_policies
from kvopt.methods.witness import is_own
from kvopt.runs.record import PROVED, columns
from kvopt.store.belief import believed_rows
from schedules.evidence import bounds_hold, keeps_tokens

MARK_NOTE = (
    "A method marked * keeps tokens over evictions, which the schedules that OPT is about may not. "
    "Its TEL is no UB, and OPT and LB are no bounds for it unless its run says so."
)

#: Statuses that say that a run ended in a way that someone should look at.
BAD = ("crashed", "memory_limit", "refused", "error")


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in an order that depends on them alone, with what tables need of them.

    Added are ``in_seconds`` (family and ``sha`` then name the batch time), ``id`` (the instance:
    sha and name), ``label`` (the method as it is shown, with its limits where an engine had
    several, marked if any of its runs preempts), ``marked``, ``engine``, ``bound_only`` (no
    schedules of its own), ``preempts`` (keeps tokens over an eviction, or may have: its TEL is no
    UB), ``kept`` (surely does, so it is not optimal), ``unbounded`` (OPT and LB are no bounds for
    it), ``believed`` (its bound counts by the rule of evidence), ``solved`` and ``superseded`` (a
    later run of the same method, instance, seed and limits is there).
    """
    rows = pd.DataFrame(index=range(len(frame)))
    source = frame.reset_index(drop=True)
    none = pd.Series([None] * len(source), dtype=object)
    for column in columns():
        values = source.get(column.name, none)
        read = _READ.get(column.kind)
        rows[column.name] = values if read is None else read(values)
    rows[PROVED] = _integers(source.get(PROVED, none))
    rows = _with_names(rows)
    order = ["family", "n", "instance", "instance_sha256", "method", "seed", "key"]
    rows = rows.sort_values(order, kind="stable", ignore_index=True)
    newest = rows.sort_values(["finished_utc", "key"], kind="stable")
    rows["superseded"] = newest.duplicated(["id", "label", "seed"], keep="last").sort_index()
    return rows


def _with_names(rows: pd.DataFrame) -> pd.DataFrame:
    rows["family"] = rows["family"].where(rows["family"] != "", "(no family)")
    rows["in_seconds"] = rows["batch_time"].ne("")
    # Times are compared under one batch time only.
    timed = rows["family"] + ", " + rows["batch_time"]
    rows["family"] = rows["family"].where(~rows["in_seconds"], timed)
    # An instance that could not be read has no hash: its name is all there is.
    rows["sha"] = rows["instance_sha256"].where(
        rows["instance_sha256"] != "", "unread " + rows["instance"]
    )
    # The hash does not tell seconds from rounds.
    rows["sha"] = rows["sha"].where(~rows["in_seconds"], rows["sha"] + " " + rows["batch_time"])
    rows["id"] = rows["sha"] + "\0" + rows["instance"]
    base = rows["method"].str.extract(r"^\s*([A-Za-z0-9./+-]*)", expand=False).fillna("")
    # A file of one's own names itself as its solver; it is compared with the policies.
    rows["engine"] = base.isin(list(named_engines())) | (
        rows["solver"].ne("")
        & ~base.isin(list(policies()))
        & ~rows["method"].map(is_own).astype(bool)
    )
    # A method is one or the other in all its rows, also where one crashed before it said so.
    rows["engine"] = rows.groupby("method")["engine"].transform("any").astype(bool)
    # The detail tells of the schedule; where older rows do not, what a policy may do counts.
    rows["kept"] = [keeps_tokens(detail, may_keep=False) for detail in rows["detail"]]
    rows["preempts"] = base.isin(list(token_keeping_policies())) | rows["kept"]
    # In seconds the detail of a run says so; in rounds rows of before may not.
    keeps = rows["kept"].where(rows["in_seconds"], rows["preempts"])
    held = [bounds_hold(*each) for each in zip(rows["detail"], keeps, strict=True)]
    rows["unbounded"] = ~pd.Series(held, rows.index, dtype=bool)
    rows["label"] = _labels(rows)
    rows["marked"] = rows.groupby("method")["preempts"].transform("any").astype(bool)
    rows["label"] = rows["label"].where(~rows["marked"], rows["label"] + MARK)
    # Of a file that said one thing and, after an edit, another, nothing is known.
    several = rows.groupby("method")["told"].transform("nunique").gt(1)
    rows["told"] = rows["told"].where(~several, "")
    rows["bound_only"] = rows["method"].map(only_bounds).astype(bool)
    rows["believed"] = believed_rows(rows)
    met = rows["tel"].eq(rows["lower_bound"]).fillna(False)
    rows["solved"] = rows["status"].eq("optimal") & rows["believed"] & met
    return rows


def _labels(rows: pd.DataFrame) -> pd.Series:
    """Name an engine's limits where it was run with several: they are not one method then."""
    label = pd.Series(shown_methods(rows["method"], rows["own_name"]), rows.index, dtype=object)
    engines = rows["engine"]
    for column, unit in (("time_limit", "s"), ("memory_limit", "GB"), ("threads", "threads")):
        several = rows.groupby("method")[column].transform("nunique", dropna=False)
        chosen = engines & several.gt(1)
        if chosen.any():
            text = rows.loc[chosen, column].map(lambda v, u=unit: _limit(v, u))
            label.loc[chosen] = label.loc[chosen] + ", " + text
    return label


def _limit(value: float, unit: str) -> str:
    return f"no limit of {unit}" if np.isnan(value) else f"{value:g} {unit}"


def _texts(values: pd.Series) -> pd.Series:
    values = values.astype(object).where(values.notna(), "")
    return values.map(str).astype(object)


def _integers(values: pd.Series) -> pd.Series:
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("Int64")
    numbers: Any = pd.to_numeric(values, errors="coerce").astype("Float64")
    known = numbers.fillna(0)
    # Beyond 2**53 a float does not tell one integer from the next; infinities are none.
    whole = numbers.where((known.abs() <= 2.0**53) & (known % 1 == 0))
    integers: pd.Series = whole.astype("Int64")
    return integers


def _floats(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64").fillna(np.nan)
    return numbers.astype(float).replace([np.inf, -np.inf], np.nan)


#: How what stands in a column is taken, whoever made the frame; lists stay as they are.
_READ: dict[type, Callable[[pd.Series], pd.Series]] = {str: _texts, int: _integers, float: _floats}
