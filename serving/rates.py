"""Latency and goodput against the rate of arrivals, with what no schedule can be better than."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from instances import Instance
from instances.arrivals import at_rate
from instances.batch_time import NANOSECONDS, parse_batch_time
from kvopt.methods.grammar import read_method, unique_methods
from kvopt.methods.knowledge import knowledge, only_bounds, shown_methods
from kvopt.methods.method import Method
from kvopt.runs.in_seconds import bounds_kept_tokens
from kvopt.runs.task import Task
from kvopt.store import Store
from kvopt.suites import Section, read_source
from kvopt.sweeps.comparison import carried_out
from kvopt.sweeps.contradictions import alarms
from kvopt.sweeps.inputs import Wishes, as_wished
from kvopt.sweeps.plan import plan
from schedules.clock.timeline import timeline
from schedules.evidence import bounds_hold
from schedules.files import parse_schedule
from serving.answer import Answer, MethodTotal, answer_on, marked
from serving.best_bound import KnownBound, best_bound, left
from serving.bounds.goodput import goodput_bound
from serving.choice import refuse_rounds_only
from serving.metrics import METRICS, goodput
from serving.slo import Slo
from serving.steadiness import steadiness
from serving.waiting import no_request_waits, none_waits_long, what_binds

#: What bounds the latency from below at every rate.
BOUND = "bound"
#: Goodputs are quotients of floats.
_ROUNDING = 1e-9


class RatesError(ValueError):
    """Rates cannot be read; the message is one line."""


def read_rates(text: str) -> tuple[float, ...]:
    """Read rates, as in ``5,10,20``: requests a second, ascending, at least one.

    Raises
    ------
    RatesError
        If one is no number above 0, or they do not ascend.
    """
    try:
        rates = tuple(float(each) for each in text.split(","))
    except ValueError:
        rates = ()
    ascending = all(low < high for low, high in itertools.pairwise(rates))
    if not rates or not ascending or not 0 < rates[0] <= rates[-1] <= 10**9:
        raise RatesError(
            f"expected rates above 0, ascending, with commas as in 5,10,20, found {text[:80]!r}"
        )
    return rates


class RateSweep(NamedTuple):
    """What a sweep over rates has come to.

    Attributes
    ----------
    table
        One row a run (docs/serving.md).
    answers
        Of each rate what vLLM's scheduler leaves (:mod:`serving.answer`), where there is one.
    wrong
        One line for everything that cannot be true.
    """

    table: pd.DataFrame
    answers: dict[float, Answer]
    wrong: list[str]


def rate_sweep(
    instance: Instance,
    rates: Sequence[float],
    methods: Sequence[Method],
    wishes: Wishes,
    *,
    arrival_seed: int = 0,
    slo: Slo | None = None,
    jobs: int = 1,
    store: str | Path | None = None,
    progress: bool = False,
) -> RateSweep:
    """Run methods, and the bound, on an instance at every rate; what is stored is not run again.

    Parameters
    ----------
    instance
        Its prompts and outputs, in its order; the arrivals are drawn (``instances.arrivals``).
    rates
        Requests a second.
    wishes
        Limits, seeds and batch time of the runs.
    arrival_seed
        Of the arrivals, the same for all rates.
    slo
        What goodput counts by.

    Errors are those of :func:`kvopt.compare`, and KeyboardInterrupt if runs are left; those that
    were finished are stored.
    """
    drawn = {rate: at_rate(instance, rate, arrival_seed) for rate in rates}
    for method in methods:
        if not method.grouped:
            refuse_rounds_only(drawn[rates[0]], method)
    sources = tuple(read_source(each) for each in drawn.values())
    section = Section("", sources, unique_methods([*methods, read_method(BOUND)]))
    tasks = plan([as_wished(section, wishes)])
    with carried_out(tasks, store, jobs, progress) as ran:
        if ran.left:
            raise KeyboardInterrupt
        good, sustained, waiting = _on_the_clock(tasks, ran.store, slo)
        bounds = _bounds(tasks, ran.store)
    kept = {key for key, each in ran.shown.items() if each.keeps_tokens}
    apart = {key for key in kept if not bounds_hold(ran.shown[key].detail, True)}
    most = {} if slo is None else _most_goodputs(tasks, slo)
    table = _table(ran.rows, bounds, apart, sustained, good, most)
    table = _with_rates(
        table, zip(ran.rows["instance"], ran.rows["instance_sha256"], strict=True), drawn
    )
    answers = _answers(ran.rows, bounds, kept, apart, drawn, waiting)
    wrong = [*alarms(list(ran.shown.values())), *_exceeded(ran.rows, bounds, kept)]
    wrong += _too_good(ran.rows, good, most)
    return RateSweep(table, answers, wrong)


def _answers(
    rows: pd.DataFrame,
    bounds: Mapping[str, KnownBound],
    kept: Collection[str],
    apart: Collection[str],
    drawn: Mapping[float, Instance],
    waiting: Mapping[str, tuple[str, str]],
) -> dict[float, Answer]:
    """Return the answer of each rate; of a method that draws the mean of its seeds counts."""
    found = {}
    for rate, instance in drawn.items():
        here = rows[rows["instance_sha256"].eq(instance.sha256)]
        outcomes = []
        for _, runs in here.groupby(["method", "own_name"], sort=False):
            method, own_name = map(str, runs[["method", "own_name"]].iloc[0])
            if only_bounds(method) or runs["tel"].isna().any():
                continue
            known = knowledge(method, runs["told"].iloc[0]).on(instance)
            label = marked(method, own_name, kept=any(key in kept for key in runs.index))
            metrics = runs[["peak_waiting", "mean_waiting", "mean_running"]].astype(float)
            once, binds = waiting.get(str(runs.index[0]), ("", ""))
            idle = once or no_request_waits(*metrics.mean(skipna=False))
            mean = float(runs["tel"].mean())
            outcomes.append(MethodTotal(label, method, known, mean, idle, binds, bool(once)))
        covers = bounds_kept_tokens(instance, str(here["batch_time"].iloc[0]))
        covers = covers and not here.index.isin(list(apart)).any()
        bound = bounds.get(instance.sha256)
        known_bound = None if bound is None else bound.value
        told = answer_on(instance, outcomes, known_bound, covers_kept=covers)
        if told is not None:
            found[rate] = told
    return found


def _with_rates(
    table: pd.DataFrame, instances: Iterable[tuple[str, str]], drawn: Mapping[float, Instance]
) -> pd.DataFrame:
    """Return a table with the rate of each row before all, in the order of the rates.

    By both: names show six digits of a rate, and one request has one hash at all rates.
    """
    rates = {(each.name, each.sha256): rate for rate, each in drawn.items()}
    table.insert(0, "rate", [rates[each] for each in instances])
    return table.sort_values("rate", kind="stable", ignore_index=True)


def _on_the_clock(
    tasks: Sequence[Task], store: Store, slo: Slo | None
) -> tuple[dict[str, float], dict[str, bool], dict[str, tuple[str, str]]]:
    """Return of each run with a schedule the goodput, whether it is sustained, and who waits."""
    good, sustained, waiting = {}, {}, {}
    for task in tasks:
        document = store.schedule(task.key)
        if document is not None and task.instance is not None:
            with contextlib.suppress(ValueError):  # more rounds than there are times kept of
                times = timeline(task.instance, parse_schedule(document))
                about = task.method.text, task.batch_time, task.instance.memory
                once = none_waits_long(task.method.text, times)
                sustained[task.key] = steadiness(times).sustained or bool(once)
                waiting[task.key] = once, what_binds(*about, times)
                if slo is not None:
                    good[task.key] = goodput(times, slo)
    return good, sustained, waiting


def _most_goodputs(tasks: Iterable[Task], slo: Slo) -> dict[str, float]:
    """Return what no goodput on an instance is above, by its hash."""
    found = {
        sha: goodput_bound(instance, parse_batch_time(batch_time), slo)
        for sha, (instance, batch_time) in _timed(tasks).items()
    }
    return {sha: math.nan if most is None else most for sha, most in found.items()}


def _bounds(tasks: Iterable[Task], store: Store) -> dict[str, KnownBound]:
    """Return the best bound known of each instance, by its hash, also from earlier sweeps."""
    found = {
        sha: best_bound(instance, batch_time, stores=(store,))
        for sha, (instance, batch_time) in _timed(tasks).items()
    }
    return {sha: known for sha, known in found.items() if known is not None}


def _timed(tasks: Iterable[Task]) -> dict[str, tuple[Instance, str]]:
    """Return the instances by their hashes, each with its batch time."""
    return {
        task.instance.sha256: (task.instance, task.batch_time)
        for task in tasks
        if task.instance is not None
    }


def _exceeded(
    rows: pd.DataFrame, bounds: Mapping[str, KnownBound], kept: Collection[str]
) -> list[str]:
    """Return one line for every run whose schedule a bound from elsewhere excludes."""
    return [
        f"{who}: TEL {tel}, and a bound of {bounds[sha].value} ({bounds[sha]})"
        for (key, sha, who), tel in zip(_named(rows), rows["tel"], strict=True)
        if key not in kept and sha in bounds and not pd.isna(tel) and tel < bounds[sha].value
    ]


def _too_good(
    rows: pd.DataFrame, good: Mapping[str, float], most: Mapping[str, float]
) -> list[str]:
    """Return one line for every run whose goodput is above what any can be."""
    return [
        f"{who}: goodput {good[key]}, and a bound of {most[sha]}"
        for key, sha, who in _named(rows)
        if key in good and good[key] > most[sha] * (1 + _ROUNDING)
    ]


def _named(rows: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield key, hash of the instance, and the names of method and instance of each row."""
    shown = shown_methods(rows["method"], rows["own_name"])
    for key, sha, method, name in zip(
        rows.index, rows["instance_sha256"], shown, rows["instance"], strict=True
    ):
        yield key, sha, f"{method} on {name}"


def _table(
    rows: pd.DataFrame,
    bounds: Mapping[str, KnownBound],
    apart: Collection[str],
    sustained: Mapping[str, bool],
    good: Mapping[str, float],
    most: Mapping[str, float],
) -> pd.DataFrame:
    """Return the table; of the runs ``apart`` no bound tells what is left to gain."""
    n, tel = rows["n"].astype(float), rows["tel"].astype("Float64")
    known = [bounds.get(sha) for sha in rows["instance_sha256"]]
    best = pd.Series([each and each.value for each in known], rows.index, dtype="Int64")
    shares = [
        None if pd.isna(upper) or pd.isna(lower) else left(int(upper), int(lower))
        for upper, lower in zip(rows["tel"], best, strict=True)
    ]
    table = pd.DataFrame(
        {
            "n": rows["n"],
            "method": shown_methods(rows["method"], rows["own_name"]),
            "seed": rows["seed"],
            "status": rows["status"],
            "batch_time": rows["batch_time"],
            "tel_s": tel / NANOSECONDS,
            "ael_s": tel / n / NANOSECONDS,
            "bound_ael_s": best / n / NANOSECONDS,
            "bound_from": [str(each or "") for each in known],
            "left": pd.Series(shares, rows.index, dtype="Float64").mask(
                rows.index.isin(list(apart))
            ),
        }
    )
    # Where no request waits, the backlog is what runs: no burst, whatever the halves hold.
    idle = rows["peak_waiting"].eq(0).astype("boolean")
    told = pd.Series(sustained, dtype="boolean").reindex(table.index)
    table["sustained"] = told | idle.mask(told.isna())
    if good:
        table["goodput"] = pd.Series(good, dtype="float64").reindex(table.index)
        table["bound_goodput"] = rows["instance_sha256"].map(dict(most))
    table = table.join(rows[[*METRICS, "seconds", "detail"]])
    return table.reset_index(drop=True)


def of_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the methods, without those of the bound, which makes no schedule."""
    return table[table["method"].ne(BOUND)]
