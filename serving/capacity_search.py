"""The largest sustained rate of arrivals that keeps an objective, by policy."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from instances import Instance
from instances.arrivals import redraw_arrivals
from instances.batch_time import NANOSECONDS, BatchTime
from kvopt.methods.method import Method
from kvopt.methods.method_names import shown_method
from kvopt.suites import SuiteSection, read_source
from kvopt.sweeps.comparison import run_sweep
from kvopt.sweeps.contradictions import alarms
from kvopt.sweeps.plan import plan
from kvopt.sweeps.sweep_inputs import Wishes, with_wishes
from schedules.clock.timeline import make_timeline
from schedules.evidence import bounds_hold
from schedules.schedule_files import parse_schedule
from serving.batch_time import DEFAULT, read_batch_time
from serving.batch_time_choice import refuse_rounds_only
from serving.bounds.loads import PICOSECONDS, RoundRoom, not_covered, work
from serving.metrics import good, serving
from serving.slo import Slo
from serving.sustained_runs import behind_warm_up, steadiness

LOWEST, HIGHEST = 1e-3, 1e4
#: Factor from one rate to the next until one is kept and one is not.
_STRIDE = 2.0
#: Fewest requests of a third of a run, and most of a whole run; blocks that give an error.
_FEWEST, _MOST, _BLOCKS = 400, 100_000, 10
_SHOWN = tuple(f"{what}_{name}_ms" for name in ("ttft", "tpot", "e2el") for what in ("mean", "p99"))
_COLUMNS = ["method", "capacity", "not_kept", "burst", "share", "throughput", "goodput"]
_COLUMNS += ["output_throughput", *_SHOWN]


class WrongMethodError(RuntimeError):
    """A run proves a method or a bound wrong; the message is one line."""


@dataclass(frozen=True)
class Probe:
    """Result of a policy at a rate, requests a second, behind the warm-up.

    ``share``: of the requests that keep the objective, NaN without a schedule.  ``sustained`` is of
    ``serving.sustained_runs``.  ``burst``: the share is kept, but not sustained.  ``detail``: the
    reason that there is no schedule.
    """

    rate: float
    share: float
    sustained: bool | None = False
    burst: bool = False
    metrics: dict[str, float | None] = field(default_factory=dict)
    detail: str = ""


def largest_rate(
    keeps: Callable[[float], bool], start: float, precision: float
) -> tuple[float, float]:
    """Return a rate that is kept and a larger one that is not, whose quotient is 1 + precision.

    It doubles or halves ``start`` until one rate is kept and the next is not, then bisects.  The
    first is 0 if no rate is kept, the second infinite if all are.
    """
    low, high = 0.0, math.inf
    rate = min(max(start, LOWEST), HIGHEST)
    while low == 0.0 or high == math.inf:
        if keeps(rate):
            low = rate
            if rate >= HIGHEST:
                return low, high
            rate = min(rate * _STRIDE, HIGHEST)
        else:
            high = rate
            if rate <= LOWEST:
                return low, high
            rate = max(rate / _STRIDE, LOWEST)
    while high > low * (1 + precision):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low, high


def capacity(
    instance: Instance,
    methods: Sequence[Method],
    wishes: Wishes,
    slo: Slo,
    *,
    share: float = 0.99,
    precision: float = 0.05,
    arrival_seed: int = 0,
    jobs: int = 1,
    store: str | Path | None = None,
    listen: Callable[[str, Probe], object] = lambda _method, _probe: None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Find the largest sustained rate at which a share of the requests keeps an objective.

    A run has three parts of the same requests and gaps, warm-up and two halves, each with as many
    passes of the instance as a judgement takes.  The next rate is above by ``precision`` at most;
    ``listen`` receives every rate; a wrong run raises a WrongMethodError.

    Returns a row a method: ``method``, ``capacity`` (0 if no rate is kept), ``not_kept`` (infinite
    if all are), ``burst`` of that one, and of the run at the capacity ``share``, ``throughput``,
    ``goodput`` and metrics; and a row a rate.  Errors are of :func:`kvopt.compare`; an interrupted
    run raises KeyboardInterrupt.
    """
    n, most = len(instance), ceiling(instance, wishes.batch_time)

    def keeps(method: Method, found: dict[float, Probe], rate: float) -> bool:
        passes = -(-_FEWEST // n)
        while True:
            drawn = redraw_arrivals(instance, rate, arrival_seed, 3 * passes)
            probe = _probe(rate, drawn, method, wishes, slo, most, jobs, store)
            passes *= 2
            if not probe.share >= share or probe.sustained is not None or 3 * passes * n > _MOST:
                break
        counts, enough = bool(probe.sustained), probe.share >= share
        found[rate] = replace(probe, burst=enough and not counts)
        listen(method.text, found[rate])
        return enough and counts

    lines, runs, start = [], [], 1.0
    for method in methods:
        found: dict[float, Probe] = {}
        low, high = largest_rate(partial(keeps, method, found), start, precision)
        start = low or start
        name: dict[str, Any] = {"method": shown_method(method.text, method.own_name)}
        line = name | {"capacity": low, "not_kept": high}
        line["burst"] = high in found and found[high].burst
        more = {"share": found[low].share, **found[low].metrics} if low in found else {}
        lines.append(line | more)
        probes = [each for _, each in sorted(found.items())]
        shown = ("rate", "share", "sustained", "burst", "detail")
        runs += [name | {each: vars(x)[each] for each in shown} | x.metrics for x in probes]
    return pd.DataFrame(lines, columns=_COLUMNS), pd.DataFrame(runs)


def _probe(
    rate: float,
    drawn: Instance,
    method: Method,
    wishes: Wishes,
    slo: Slo,
    most: float,
    jobs: int,
    store: str | Path | None,
) -> Probe:
    """Run a method at a rate and average over seeds; one without a schedule keeps nothing."""
    refuse_rounds_only(drawn, method)
    tasks = plan([with_wishes(SuiteSection("", (read_source(drawn),), (method,)), wishes)])
    shares, steady, found = [], [], []
    with run_sweep(tasks, store, jobs, False) as ran:
        if ran.left:
            raise KeyboardInterrupt
        if wrong := alarms(list(ran.shown.values())):
            raise WrongMethodError(f"A METHOD IS WRONG: {wrong[0]}")
        for task in tasks:
            document = ran.store.schedule(task.key)
            if document is None or task.instance is None:
                return Probe(rate, math.nan, detail=ran.shown[task.key].detail)
            whole = make_timeline(task.instance, parse_schedule(document))
            run, times = steadiness(whole), behind_warm_up(whole)
            shown = ran.shown[task.key]
            covered = bounds_hold(shown.detail, shown.keeps_tokens)
            steady.append(run.sustained(rate, most if covered else math.inf))
            shares.append(float(good(times, slo).mean()))
            metrics = serving(times)
            found.append(
                {"throughput": run.throughput, "goodput": shares[-1] * run.throughput}
                | {"output_throughput": run.output_throughput}
                | {name: getattr(metrics, name) for name in _SHOWN}
            )
    means = {str(name): each for name, each in pd.DataFrame(found, dtype=float).mean().items()}
    sustained = False if False in steady else None if None in steady else True
    return Probe(rate, sum(shares) / len(shares), sustained, metrics=means)


@dataclass(frozen=True)
class StabilityRate:
    """The rate M / (b · E[g]) of arXiv 2605.04595 (Nie, Si and Zhou, theorem 4.1).

    A request holds g = s·o + o(o − 1)/2 tokens, summed over its rounds, s + j − 1 in round j
    (``serving.bounds.loads.RoundRoom``).  The paper measures b, the seconds of a round.  Here a
    round with M tokens held does M / E[g] of a request's loads, so b = base + M / E[g] times the
    mean load of a request, and b · E[g] / M is the mean of ``serving.bounds.loads.work`` over M.

    No scheduler that bounds cover (``serving.bounds.loads.not_covered``) sustains more.  Proof.
    A round charges each request the share h / M of its base and its load, and the charges add up to
    no more than its time (``work_bound``).  In a time T all but a backlog of B requests complete,
    each of work w at most: rate · T · b · E[g] / M − B · w ≤ T.  Divide by T, which grows.

    ``memory`` is M (tokens), ``held`` E[g] (tokens), ``work`` the mean work of a request (seconds),
    ``error`` its :func:`blockwise_error`.
    """

    memory: int
    held: float
    work: float
    error: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return 1 / self.work if self.work else math.inf

    def __str__(self) -> str:
        seconds = self.memory * self.work / self.held if self.held else 0.0
        rounds = f"({seconds:.4g} s * {self.held:,.0f})"
        return f"M / (b E[g]) = {self.memory:,} / {rounds} = {rounded_up(self.rate)} a second"


def rounded_up(rate: float) -> str:
    """Return a largest rate with four digits, not below it but for the error of a quotient."""
    upwards = Context(prec=4, rounding=ROUND_CEILING)
    return f"{float(upwards.create_decimal_from_float(rate * (1 - 1e-9))):.4g}"


def ceiling(instance: Instance, batch_time: BatchTime | None) -> float:
    """Return the rate (requests a second) above which no scheduler is sustained, or infinity."""
    model = batch_time or read_batch_time(DEFAULT)
    return math.inf if not_covered(instance, model) else stability_rate(instance, model).rate


def stability_rate(instance: Instance, batch_time: BatchTime) -> StabilityRate:
    """Return the rate at which a full memory serves these requests."""
    memory, requests = instance.memory, instance.requests
    works = np.array([work(each, RoundRoom(memory), batch_time) / memory for each in requests])
    held = float(np.mean([each.volume - each.output for each in requests]))
    seconds = float(works.mean()) / (PICOSECONDS * NANOSECONDS)
    return StabilityRate(memory, held, seconds, blockwise_error(works))


def blockwise_error(values: NDArray[np.float64]) -> float:
    """Return two standard errors of a mean as a share of it (docs/rates.md), of one value ∞."""
    means = np.array([each.mean() for each in np.array_split(values, min(_BLOCKS, len(values)))])
    if len(means) == 1 or not means.any():
        return math.inf if means.any() else 0.0
    return 2 * float(means.std(ddof=1)) / float(values.mean()) / math.sqrt(len(means))
