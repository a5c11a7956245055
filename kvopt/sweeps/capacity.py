"""The largest rate of arrivals at which nearly all requests keep an objective, by policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from formulations.bounds.goodput import demands
from formulations.valid.loads import not_covered
from instances import Instance
from instances.arrivals import at_rate
from instances.batch_time import BatchTime
from kvopt.methods.knowledge import shown_method
from kvopt.methods.method import Method
from kvopt.running.batch_time import refuse_rounds_only
from kvopt.suites import Section, read_source
from kvopt.sweeps.comparison import carried_out
from kvopt.sweeps.inputs import Wishes, as_wished
from kvopt.sweeps.plan import plan
from schedules.files import parse_schedule
from schedules.real_time.serving import good, goodput, serving
from schedules.real_time.slo import Slo
from schedules.real_time.timeline import timeline

#: Rates that are looked at lie between these, requests a second.
LOWEST, HIGHEST = 1e-3, 1e4
#: Factor from one rate to the next until one is kept and one is not.
_STRIDE = 2.0
_SHOWN: tuple[str, ...] = ("request_throughput", "output_throughput")
_SHOWN += tuple(
    f"{what}_{name}_ms" for name in ("ttft", "tpot", "e2el") for what in ("mean", "p99")
)


@dataclass(frozen=True)
class Probe:
    """What a policy comes to at a rate.

    Attributes
    ----------
    rate
        Requests a second.
    share
        Of the requests that keep the objective; missing where the policy has no schedule.
    metrics
        The serving metrics that are shown, and the goodput.
    """

    rate: float
    share: float
    metrics: dict[str, float | None]


def largest_rate(
    keeps: Callable[[float], bool], start: float, precision: float
) -> tuple[float, float]:
    """Return a rate that is kept and a larger one that is not, whose quotient is 1 + precision.

    From ``start`` in steps of a factor of two until one is kept and the next is not, then by
    bisection.  Where what is kept does not fall with the rate, it is one of several such places.
    The first is 0 where even the lowest rate is not kept, the second infinite where the highest is.
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
    """Look for the largest rate at which a share of the requests keeps an objective.

    Parameters
    ----------
    instance
        Its prompts and outputs, in its order; the arrivals are drawn (``instances.arrivals``).
    share
        Of the requests, above 0, at most 1.
    precision
        By how much a rate that is not kept may be above the one that is told, as a share.
    listen
        Hears of every run.

    Returns
    -------
    (pandas.DataFrame, pandas.DataFrame)
        One row a method: ``method``, ``capacity`` (0 where the lowest rate is not kept),
        ``not_kept`` (infinite where the highest is), and of the run at that rate ``share``,
        ``goodput`` and metrics.  And one row a run, for a picture of throughput and latency.

    Raises
    ------
    MethodError, InSecondsError, StoreError, ValueError
        As :func:`kvopt.compare` says.
    KeyboardInterrupt
        If a run was interrupted.
    """

    def keeps(method: Method, found: dict[float, Probe], rate: float) -> bool:
        drawn = at_rate(instance, rate, arrival_seed)
        refuse_rounds_only(drawn, method)
        section = as_wished(Section("", (read_source(drawn),), (method,)), wishes)
        probe = found[rate] = _probe(rate, section, slo, jobs, store)
        listen(method.text, probe)
        return probe.share >= share

    lines, runs = [], []
    start = 1.0
    for method in methods:
        found: dict[float, Probe] = {}
        low, high = largest_rate(partial(keeps, method, found), start, precision)
        start = low or start
        shown = shown_method(method.text, method.own_name)
        lines.append({"method": shown, "capacity": low, "not_kept": high} | _at(found.get(low)))
        runs += [{"method": shown, "rate": rate} | _at(found[rate]) for rate in sorted(found)]
    return pd.DataFrame(lines), pd.DataFrame(runs)


def _at(probe: Probe | None) -> dict[str, float | None]:
    return {} if probe is None else {"share": probe.share, **probe.metrics}


def _probe(rate: float, section: Section, slo: Slo, jobs: int, store: str | Path | None) -> Probe:
    """Run a method at a rate; seeds are averaged, and one without a schedule keeps nothing."""
    shares, found = [], []
    tasks = plan([section])
    with carried_out(tasks, store, jobs, False) as ran:
        if ran.left:
            raise KeyboardInterrupt
        for task in tasks:
            document = ran.store.schedule(task.key)
            if document is None or task.instance is None:
                return Probe(rate, math.nan, {})
            times = timeline(task.instance, parse_schedule(document))
            shares.append(float(good(times, slo).mean()))
            metrics = serving(times)
            found.append(
                {"goodput": goodput(times, slo)} | {name: getattr(metrics, name) for name in _SHOWN}
            )
    means = pd.DataFrame(found, dtype=float).mean()
    return Probe(rate, sum(shares) / len(shares), {str(name): each for name, each in means.items()})


def capacity_bound(
    instance: Instance, batch_time: BatchTime, slo: Slo, share: float, arrival_seed: int = 0
) -> float:
    """Return a rate above which no scheduler has a share of the requests keep an objective.

    Infinite where nothing of the kind is known: without limits that say when a request is to be
    complete or to have its first token, or where bounds do not hold for kept tokens.

    Proof.  A round charges each request the share h / M of its base and its load, and the charges
    add up to no more than its time (``formulations.valid.loads.work_bound``).  A request that keeps
    the objective is charged all its work w_i between its arrival and a_i + d_i, where d_i is the
    limit on E2EL, or that on TTFT and o_i − 1 times that on TPOT; of its first token alone it is
    charged its prefill by a_i plus the limit on TTFT (``formulations.bounds.goodput``).
    Of n requests k keep it, so the sum of the k smallest w_i, W, is no more than the time from the
    first arrival to the last a_i + d_i.  At rate r arrivals are g_i / r, g those of rate 1, rounded
    to nanoseconds.  So W ≤ max (g_i / r + d_i) + 1 ns: where W exceeds all d_i + 1 ns,
    r ≤ max g_i / (W − d_i − 1 ns).
    """
    if not_covered(instance, batch_time):
        return math.inf
    times = at_rate(instance, 1.0, arrival_seed).arrival_times.tolist()
    kept = math.ceil(share * len(instance) - 1e-9)
    found = [math.inf]
    for works, limits in demands(instance, batch_time, slo):
        least = sum(sorted(works)[:kept])
        # One more for the rounding of the times at rate 1.
        slack = [least - limit - 2 for limit in limits]
        if min(slack) > 0:
            quotients = ((time + 1) / each for time, each in zip(times, slack, strict=True))
            found.append(max(quotients) * (1 + 1e-9))
    return min(found)
