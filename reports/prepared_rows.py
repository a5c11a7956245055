"""The rows of a store as all tables want them: every column there, of one type, in one order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from heuristics.policy_registry import policies
from kvopt.methods.engine_table import named_engines
from kvopt.methods.method_names import MARK, only_bounds, shown_method, token_keeping_policies
from kvopt.methods.witness import is_own
from kvopt.runs.row_columns import PROVED, row_columns
from kvopt.store.proved_bounds import believed_rows
from schedules.evidence import bounds_hold, keeps_tokens

MARK_NOTE = (
    "* keeps tokens over evictions, which schedules within the problem may not: its TEL is no UB, "
    "and OPT and LB are no bounds for it unless its run says so."
)

#: Statuses of runs that ended in a way that someone should look at.
BAD = ("crashed", "memory_limit", "refused", "error")


def prepare_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in an order that depends on them alone, with added columns for tables.

    Added are ``in_seconds`` (family and ``sha`` then name the batch time), ``id`` (the instance:
    sha and name), ``label`` (the method as it is shown, with its limits where an engine had
    several, marked if any of its runs preempts), ``marked``, ``custom``, ``engine``, ``bound_only``
    (makes no schedules), ``preempts`` (keeps tokens over an eviction, or may have: its TEL is no
    UB), ``kept`` (surely does, so it is not optimal), ``unbounded`` (OPT and LB are no bounds for
    it), ``believed`` (its bound counts by the rule of evidence), ``solved`` and ``superseded`` (a
    later run of the same method, instance, seed and limits is there).
    """
    rows = pd.DataFrame(index=range(len(frame)))
    source = frame.reset_index(drop=True)
    none = pd.Series([None] * len(source), dtype=object)
    for column in row_columns():
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
    in_rounds, timed = ~rows["in_seconds"], rows["family"] + ", " + rows["batch_time"]
    rows["family"] = rows["family"].where(in_rounds, timed)
    # An instance that could not be read has no hash: its name is all there is.
    sha = rows["instance_sha256"]
    sha = sha.where(sha != "", "unread " + rows["instance"])
    # Seconds and rounds have one hash.
    rows["sha"] = sha.where(in_rounds, sha + " " + rows["batch_time"])
    rows["id"] = rows["sha"] + "\0" + rows["instance"]
    base = rows["method"].str.extract(r"^\s*([A-Za-z0-9./+-]*)", expand=False).fillna("")
    # A custom file names itself as its solver; it is compared with the policies.
    rows["custom"] = rows["method"].map(is_own).astype(bool)
    is_policy = base.isin(list(policies())) | rows["custom"]
    engine = base.isin(list(named_engines())) | (rows["solver"].ne("") & ~is_policy)
    # A method is one or the other in all its rows, also where one crashed before it said so.
    rows["engine"] = engine.groupby(rows["method"]).transform("any").astype(bool)
    # The detail describes the schedule; where older rows do not, the policy's permission counts.
    rows["kept"] = [keeps_tokens(detail, may_keep=False) for detail in rows["detail"]]
    rows["preempts"] = base.isin(list(token_keeping_policies())) | rows["kept"]
    # In seconds the detail of a run says so; in rounds older rows may not.
    keeps = rows["kept"].where(rows["in_seconds"], rows["preempts"])
    held = [bounds_hold(*each) for each in zip(rows["detail"], keeps, strict=True)]
    rows["unbounded"] = ~pd.Series(held, rows.index, dtype=bool)
    label = _labels(rows)
    methods = rows.groupby("method")
    rows["marked"] = methods["preempts"].transform("any").astype(bool)
    rows["label"] = label.where(~rows["marked"], label + MARK)
    # A file that declared one thing and, after an edit, another declares nothing.
    told = rows["told"].str.replace("exact ", "").groupby(rows["method"])
    rows["told"] = rows["told"].where(told.transform("nunique").le(1), "")
    rows["bound_only"] = rows["method"].map(only_bounds).astype(bool)
    rows["believed"] = believed_rows(rows)
    met = rows["tel"].eq(rows["lower_bound"]).fillna(False)
    rows["solved"] = rows["status"].eq("optimal") & rows["believed"] & met
    return rows


def _labels(rows: pd.DataFrame) -> pd.Series:
    """Name an engine's limits where it was run with several: they are not one method then."""
    shown = list(map(shown_method, rows["method"], rows["own_name"]))
    label: Any = pd.Series(shown, rows.index, dtype=object)
    for column, unit in (("time_limit", "s"), ("memory_limit", "GB"), ("threads", "threads")):
        several = rows.groupby("method")[column].transform("nunique", dropna=False).gt(1)
        for at, value in rows.loc[rows["engine"] & several, column].items():
            label[at] += f", no limit of {unit}" if np.isnan(value) else f", {value:g} {unit}"
    return pd.Series(label)


def _texts(values: pd.Series) -> pd.Series:
    values = values.astype(object).where(values.notna(), "")
    return values.map(str).astype(object)


def _integers(values: pd.Series) -> pd.Series:
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("Int64")
    numbers: Any = pd.to_numeric(values, errors="coerce").astype("Float64")
    known = numbers.fillna(0)
    # Beyond 2**53 a float stands for several integers; infinities are none.
    whole = numbers.where((known.abs() <= 2.0**53) & (known % 1 == 0))
    integers: pd.Series = whole.astype("Int64")
    return integers


def _floats(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64").fillna(np.nan)
    return numbers.astype(float).replace([np.inf, -np.inf], np.nan)


#: Readers of columns, whoever made the frame; lists stay as they are.
_READ: dict[type, Callable[[pd.Series], pd.Series]] = {str: _texts, int: _integers, float: _floats}
