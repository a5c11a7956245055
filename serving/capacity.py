"""The largest rate of arrivals that is sustained and keeps an objective, by policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from instances import Instance
from instances.arrivals import repeated_at_rate
from instances.batch_time import NANOSECONDS, BatchTime
from kvopt.methods.knowledge import shown_method
from kvopt.methods.method import Method
from kvopt.suites import Section, read_source
from kvopt.sweeps.comparison import carried_out
from kvopt.sweeps.inputs import Wishes, as_wished
from kvopt.sweeps.plan import plan
from schedules.clock.timeline import timeline
from schedules.files import parse_schedule
from serving.batch_time import DEFAULT, read_batch_time
from serving.bounds.loads import PICOSECONDS, Room, not_covered, work
from serving.choice import refuse_rounds_only
from serving.metrics import good, serving
from serving.slo import Slo
from serving.steadiness import behind_warm_up, steadiness

#: Rates that are looked at lie between these, requests a second.
LOWEST, HIGHEST = 1e-3, 1e4
#: Factor from one rate to the next until one is kept and one is not.
_STRIDE = 2.0
#: Requests of a third of a run, at least, and of a whole one where it is still too short to tell.
_FEWEST, _MOST = 400, 100_000
#: A half of so many times in service that still grows is a burst; it is doubled until then.
_LONG = 20
_SHOWN = tuple(f"{what}_{name}_ms" for name in ("ttft", "tpot", "e2el") for what in ("mean", "p99"))


@dataclass(frozen=True)
class Probe:
    """Result of a policy at a rate, requests a second.

    ``share`` is that of the requests behind the warm-up that keep the objective, missing without a
    schedule; ``sustained`` and ``lengths`` are as ``serving.steadiness`` says.  It is a
    ``burst`` if so many keep it that the rate would count if it were sustained.  ``metrics`` are
    the serving metrics that are shown, goodput and throughput, behind the warm-up.
    """

    rate: float
    share: float
    sustained: bool = False
    lengths: float = 0.0
    burst: bool = False
    metrics: dict[str, float | None] = field(default_factory=dict)


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
    """Look for the largest sustained rate at which a share of the requests keeps an objective.

    A run has three parts of the same requests and gaps, warm-up and two halves, as many passes of
    the instance each as it takes until a half is long enough to tell.  The next rate may be above
    the one that is told by the ``precision``; ``listen`` receives every rate.

    Returns a row a method: ``method``, ``capacity`` (0 where the lowest rate is not kept),
    ``not_kept`` (infinite where the highest is), ``burst`` (whether that one would be kept if it
    were sustained), and of the run at the capacity ``share``, ``throughput``, ``goodput`` and
    metrics; and a row a rate, for a picture of throughput and latency.  Errors are those of
    :func:`kvopt.compare`, and KeyboardInterrupt if a run was interrupted.
    """
    model, n = wishes.batch_time or read_batch_time(DEFAULT), len(instance)
    covered = not not_covered(instance, model)
    most = stability_rate(instance, model).rate if covered else math.inf

    def keeps(method: Method, found: dict[float, Probe], rate: float) -> bool:
        passes = -(-_FEWEST // n)
        while True:
            drawn = repeated_at_rate(instance, rate, 3 * passes, arrival_seed)
            probe = _probe(rate, drawn, method, wishes, slo, jobs, store)
            passes *= 2
            judged = not probe.share >= share or probe.sustained or probe.lengths >= _LONG
            if judged or 3 * passes * n > _MOST:
                break
        # What no scheduler sustains may still be within the tolerance.
        counts, enough = probe.sustained and rate <= most, probe.share >= share
        found[rate] = replace(probe, burst=enough and not counts)
        listen(method.text, found[rate])
        return enough and counts

    lines, runs, start = [], [], 1.0
    for method in methods:
        found: dict[float, Probe] = {}
        low, high = largest_rate(partial(keeps, method, found), start, precision)
        start = low or start
        name: dict[str, Any] = {"method": shown_method(method.text, method.own_name)}
        burst = high in found and found[high].burst
        line = name | {"capacity": low, "not_kept": high, "burst": burst}
        if low in found:
            line |= {"share": found[low].share, **found[low].metrics}
        lines.append(line)
        runs += [
            name | {"rate": rate, "share": each.share} | each.metrics
            for rate, each in sorted(found.items())
        ]
    return pd.DataFrame(lines), pd.DataFrame(runs)


def _probe(
    rate: float,
    drawn: Instance,
    method: Method,
    wishes: Wishes,
    slo: Slo,
    jobs: int,
    store: str | Path | None,
) -> Probe:
    """Run a method at a rate; seeds are averaged, and one without a schedule keeps nothing."""
    refuse_rounds_only(drawn, method)
    tasks = plan([as_wished(Section("", (read_source(drawn),), (method,)), wishes)])
    shares, steady, found = [], [], []
    with carried_out(tasks, store, jobs, False) as ran:
        if ran.left:
            raise KeyboardInterrupt
        for task in tasks:
            document = ran.store.schedule(task.key)
            if document is None or task.instance is None:
                return Probe(rate, math.nan)
            whole = timeline(task.instance, parse_schedule(document))
            told, times = steadiness(whole), behind_warm_up(whole)
            steady.append(told)
            shares.append(float(good(times, slo).mean()))
            metrics = serving(times)
            found.append(
                {"throughput": told.throughput, "goodput": shares[-1] * told.throughput}
                | {"output_throughput": told.output_throughput}
                | {name: getattr(metrics, name) for name in _SHOWN}
            )
    means = pd.DataFrame(found, dtype=float).mean()
    return Probe(
        rate,
        sum(shares) / len(shares),
        sustained=all(each.sustained for each in steady),
        lengths=min(each.lengths for each in steady),
        metrics={str(name): each for name, each in means.items()},
    )


@dataclass(frozen=True)
class StabilityRate:
    """The rate M / (b · E[g]) of arXiv 2605.04595 (Nie, Si and Zhou, theorem 4.1).

    A request holds g = s·o + o(o − 1)/2 tokens, summed over its rounds, s + j − 1 in round j
    (``serving.bounds.loads.Room``).  The paper measures b, the seconds of a round.  Here they
    follow from the batch time: a round with M tokens held does M / E[g] of a request's loads, so
    b = base + M / E[g] times the mean load of a request, and b · E[g] / M is the mean of
    ``serving.bounds.loads.work`` over M.

    No scheduler that bounds cover (``serving.bounds.loads.not_covered``) sustains more.  Proof.
    A round charges each request the share h / M of its base and its load, and the charges add up to
    no more than its time (``work_bound``).  With a backlog below B, rate · T − B requests are
    completed in a time T, so their work is at most T.  Divide by T, which grows without end.

    ``memory`` is M (tokens), ``held`` E[g] (tokens), ``work`` the mean work of a request (seconds).
    ``error`` is two standard errors of that as a share of it, by which the rate of further requests
    of the same kind may differ.
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
        return (
            f"M / (b E[g]) = {self.memory:,} / ({seconds:.4g} s * {self.held:,.0f}) = "
            f"{self.rate:.4g} a second"
        )


def stability_rate(instance: Instance, batch_time: BatchTime) -> StabilityRate:
    """Return the rate at which a memory that is always full serves these requests."""
    memory, requests = instance.memory, instance.requests
    works = np.array([work(each, Room(memory), batch_time) / memory for each in requests])
    held = float(np.mean([each.volume - each.output for each in requests]))
    mean = float(works.mean())
    error = 2 * float(works.std()) / mean / math.sqrt(len(works)) if mean else 0.0
    return StabilityRate(memory, held, mean / (PICOSECONDS * NANOSECONDS), error)
