"""Latency and goodput against the rate of arrivals, with the bounds on both."""

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from instances import Instance
from instances.arrivals import redraw_arrivals
from instances.batch_time import NANOSECONDS, parse_batch_time
from kvopt.methods.grammar import read_method, unique_methods
from kvopt.methods.knowledge import knowledge
from kvopt.methods.method import Method
from kvopt.methods.method_names import only_bounds, shown_method
from kvopt.runs.serving_imports import bounds_kept_tokens
from kvopt.runs.task import Task
from kvopt.store import Store
from kvopt.suites import SuiteSection, read_source
from kvopt.sweeps.comparison import run_sweep
from kvopt.sweeps.contradictions import alarms
from kvopt.sweeps.plan import plan
from kvopt.sweeps.sweep_inputs import Wishes, with_wishes
from schedules.clock.timeline import make_timeline
from schedules.evidence import bounds_hold
from schedules.schedule_files import parse_schedule
from serving.answer import Answer, MethodTotal, answer_on, marked
from serving.batch_time_choice import refuse_rounds_only
from serving.best_bound import KnownBound, best_bound, share_left
from serving.bounds.goodput import goodput_bound
from serving.metrics import METRICS, goodput
from serving.slo import Slo
from serving.sustained_runs import Steadiness, steadiness
from serving.waiting_requests import few_at_a_time, no_request_waits, none_waits_long, what_binds
from support.usage_errors import UsageError

BOUND = "bound"
#: Goodputs are quotients of floats.
_ROUNDING = 1e-9


def read_rates(text: str) -> tuple[float, ...]:
    """Read ascending rates, as ``5,10,20`` requests a second, or raise a UsageError."""
    try:
        rates = tuple(float(each) for each in text.split(","))
    except ValueError:
        rates = ()
    ascending = all(low < high for low, high in itertools.pairwise(rates))
    if not rates or not ascending or not 0 < rates[0] <= rates[-1] <= 10**9:
        raise UsageError(f"expected rates above 0, ascending, as in 5,10,20, found {text[:80]!r}")
    return rates


class RateSweepResult(NamedTuple):
    """The table with a row a run (docs/rates.md), the answer of each rate, and contradictions."""

    table: pd.DataFrame
    answers: dict[float, Answer]
    wrong: list[str]


class _Clocked(NamedTuple):
    """Figures of a run's schedule on the clock; the defaults without one."""

    good: float = math.nan
    steady: Steadiness | None = None
    waits: str = ""
    binds: str = ""


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
    most: float = math.inf,
) -> RateSweepResult:
    """Run methods, and the bound, on an instance at every rate; stored runs are not run again.

    Prompts and outputs are the instance's, in its order.  One seed draws the arrivals of all
    ``rates`` (requests a second); no scheduler sustains more than ``most``.  Errors are of
    :func:`kvopt.compare`; KeyboardInterrupt is raised if runs are left, finished ones are stored.
    """
    drawn = {rate: redraw_arrivals(instance, rate, arrival_seed) for rate in rates}
    for method in methods:
        if not method.grouped:
            refuse_rounds_only(drawn[rates[0]], method)
    sources = tuple(read_source(each) for each in drawn.values())
    section = SuiteSection("", sources, unique_methods([*methods, read_method(BOUND)]))
    tasks = plan([with_wishes(section, wishes)])
    with run_sweep(tasks, store, jobs, progress) as ran:
        if ran.left:
            raise KeyboardInterrupt
        clocked = {task.key: _on_the_clock(task, ran.store, slo) for task in tasks}
        timed = {task.instance.sha256: task for task in tasks if task.instance is not None}
        limits = {sha: _limits(task, ran.store, slo) for sha, task in timed.items()}
    kept = {key for key, each in ran.shown.items() if each.keeps_tokens}
    apart = {key for key in kept if not bounds_hold(ran.shown[key].detail, True)}
    rows = ran.rows.assign(keeps=ran.rows.index.isin([*kept]), apart=ran.rows.index.isin([*apart]))
    rows = rows.join(pd.DataFrame.from_dict(clocked, orient="index", columns=_Clocked._fields))
    rows["name"] = list(map(shown_method, rows["method"], rows["own_name"]))
    places = {(each.name, each.sha256): rate for rate, each in drawn.items()}
    # By both: names show six digits of a rate, and one request has one hash at all rates.
    found = zip(rows["instance"], rows["instance_sha256"], strict=True)
    rows["rate"] = [places[each] for each in found]
    waiting = rows["peak_waiting"].ne(0) & rows["waits"].eq("")
    least = rows["apart"].map({True: math.inf, False: most})
    steady = zip(rows["steady"], rows["rate"], least, waiting, strict=True)
    judged = [run and run.sustained(*rates, waits=waits) for run, *rates, waits in steady]
    rows["sustained"] = pd.array(judged, dtype="boolean")
    bounds, goodputs = zip(*(limits[sha] for sha in rows["instance_sha256"]), strict=True)
    rows["lower"] = pd.array([each and each.value for each in bounds], dtype="Int64")
    rows["bound_from"], rows["most"] = [str(each or "") for each in bounds], goodputs
    wrong = alarms(list(ran.shown.values()))
    for run in rows[~rows["apart"]].to_dict("records"):
        who, tel, lower = f"{run['name']} on {run['instance']}", run["tel"], run["lower"]
        if not pd.isna(lower) and not pd.isna(tel) and tel < lower:
            wrong.append(f"{who}: TEL {tel}, and a bound of {lower} ({run['bound_from']})")
        if run["good"] > run["most"] * (1 + _ROUNDING):
            wrong.append(f"{who}: goodput {run['good']}, and a bound of {run['most']}")
    return RateSweepResult(_table(rows, slo), _answers(rows, drawn), wrong)


def _on_the_clock(task: Task, store: Store, slo: Slo | None) -> _Clocked:
    document = store.schedule(task.key)
    if document is not None and task.instance is not None:
        with contextlib.suppress(ValueError):  # too many rounds for a timeline
            times, text = make_timeline(task.instance, parse_schedule(document)), task.method.text
            waits = none_waits_long(text, times)
            binds = what_binds(text, task.batch_time, task.instance.memory, times)
            good = math.nan if slo is None else goodput(times, slo)
            return _Clocked(good, steadiness(times), waits, binds)
    return _Clocked()


def _limits(task: Task, store: Store, slo: Slo | None) -> tuple[KnownBound | None, float]:
    """Return the best known bounds on latency, also of earlier sweeps, and on goodput."""
    instance, model = task.instance, parse_batch_time(task.batch_time)
    assert instance is not None
    bound = best_bound(instance, task.batch_time, stores=(store,))
    most = None if slo is None else goodput_bound(instance, model, slo)
    return bound, math.nan if most is None else most


def _answers(rows: pd.DataFrame, drawn: Mapping[float, Instance]) -> dict[float, Answer]:
    """Return the answer of each rate; a method that draws counts with the mean of its seeds."""
    found = {}
    for rate, instance in drawn.items():
        here = rows[rows["instance_sha256"].eq(instance.sha256)]
        outcomes = []
        for _, runs in here.groupby(["method", "own_name"], sort=False):
            first = runs.iloc[0]
            if only_bounds(first["method"]) or runs["tel"].isna().any():
                continue
            known = knowledge(first["method"], first["told"]).on(instance)
            label = marked(first["method"], first["own_name"], kept=bool(runs["keeps"].any()))
            metrics = runs[["peak_waiting", "mean_waiting", "mean_running"]].astype(float)
            idle = first["waits"] or no_request_waits(*metrics.mean(skipna=False))
            tail = None if runs["p99_e2el_ms"].isna().any() else float(runs["p99_e2el_ms"].mean())
            what = (label, first["method"], known, float(runs["tel"].mean()), tail)
            outcomes.append(MethodTotal(*what, idle, first["binds"], bool(first["waits"])))
        covers = bounds_kept_tokens(instance, str(here["batch_time"].iloc[0]))
        covers, few = covers and not here["apart"].any(), few_at_a_time(here["detail"])
        lower = here["lower"].iloc[0]
        bound = None if pd.isna(lower) else int(lower)
        given = answer_on(instance, outcomes, bound, covers_kept=covers, few=few)
        if given is not None:
            found[rate] = given
    return found


def _table(rows: pd.DataFrame, slo: Slo | None) -> pd.DataFrame:
    """Return the table in the order of rates; runs ``apart`` have no share left."""
    n = rows["n"].astype(float)
    shares = [
        None if pd.isna(upper) or pd.isna(lower) or apart else share_left(int(upper), int(lower))
        for upper, lower, apart in zip(rows["tel"], rows["lower"], rows["apart"], strict=True)
    ]
    table = rows[["rate", "n", "memory", "name", "seed", "status", "batch_time"]].assign(
        tel_s=rows["tel"].astype("Float64") / NANOSECONDS,
        ael_s=rows["tel"].astype("Float64") / n / NANOSECONDS,
        bound_ael_s=rows["lower"] / n / NANOSECONDS,
        bound_from=rows["bound_from"],
        left=pd.Series(shares, rows.index, dtype="Float64"),
        sustained=rows["sustained"],
    )
    table = table.rename(columns={"name": "method"})
    if slo is not None:
        table["bound_goodput"], rows = rows["most"], rows.assign(goodput=rows["good"])
    table = table.join(rows[[*METRICS, "seconds", "detail"]])
    table["kept"] = table["goodput"] / table["request_throughput"]
    return table.sort_values("rate", kind="stable", ignore_index=True)


def of_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the methods, without the rows of the bound."""
    return table[table["method"].ne(BOUND)]
