"""Serving metrics of a timeline: ``docs/metrics.md`` defines each.

Names and definitions are from ``vllm bench serve`` and Vidur.  Percentiles interpolate linearly
between order statistics, as NumPy's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from instances.batch_time import NANOSECONDS, BatchTime
from schedules.clock.timeline import Ints, Timeline
from serving.slo import SERVER_SLO, Slo
from serving.traces.trace_report import MeasuredLatencies

MILLISECOND = NANOSECONDS // 1000
PERCENTILES = (50, 90, 99)
#: Metrics with a mean and percentiles, as in ``mean_ttft_ms`` and ``p99_ttft_ms``.
SPREADS = ("ttft", "tpot", "itl", "e2el")
_MEASURED = "measured"
#: Mean and percentiles of a metric by their names, in milliseconds; None without a value.
Spread = dict[str, float | None]


@dataclass(frozen=True)
class ServingMetrics:
    """The metrics of one schedule in seconds; times in milliseconds as in ``vllm bench serve``.

    A mean without values is None, as TPOT and ITL of outputs of one token.  Throughputs are
    requests, output tokens, and all tokens per second.  Requests that run and wait, and tokens
    held, are averaged over the time of the rounds.  The goodput is of the user's objective, else of
    ``serving.slo.SERVER_SLO``.
    """

    mean_ttft_ms: float | None
    p50_ttft_ms: float | None
    p90_ttft_ms: float | None
    p99_ttft_ms: float | None
    mean_tpot_ms: float | None
    p50_tpot_ms: float | None
    p90_tpot_ms: float | None
    p99_tpot_ms: float | None
    mean_itl_ms: float | None
    p50_itl_ms: float | None
    p90_itl_ms: float | None
    p99_itl_ms: float | None
    mean_e2el_ms: float | None
    p50_e2el_ms: float | None
    p90_e2el_ms: float | None
    p99_e2el_ms: float | None
    mean_normalized_ms: float
    mean_delay_ms: float
    duration_s: float
    request_throughput: float
    output_throughput: float
    total_token_throughput: float
    goodput: float
    mean_running: float
    mean_waiting: float
    mean_tokens: float
    peak_waiting: int
    peak_tokens: int
    evictions: int
    recomputed_tokens: int


METRICS = tuple(each.name for each in fields(ServingMetrics))


def serving(timeline: Timeline, slo: Slo = SERVER_SLO) -> ServingMetrics:
    """Compute all metrics of a timeline."""
    found = _spread("itl", timeline.gaps, timeline.gap_counts)
    for spread in spreads(latencies(timeline)).values():
        found |= spread
    seconds, rounds = timeline.duration / NANOSECONDS, timeline.rounds
    output = int(timeline.outputs.sum())

    def over_time(values: Ints) -> float:
        weighted = (values.astype(float) * rounds.durations).sum()
        return float(weighted) / float(rounds.durations.sum())

    return ServingMetrics(
        **found,
        mean_normalized_ms=float((timeline.latencies / timeline.outputs).mean()) / MILLISECOND,
        mean_delay_ms=float((timeline.begins - timeline.arrivals).mean()) / MILLISECOND,
        duration_s=seconds,
        request_throughput=len(timeline.arrivals) / seconds,
        output_throughput=output / seconds,
        total_token_throughput=(output + int(timeline.prompts.sum())) / seconds,
        goodput=goodput(timeline, slo),
        mean_running=over_time(rounds.running),
        mean_waiting=over_time(rounds.waiting),
        mean_tokens=over_time(rounds.tokens),
        peak_waiting=int(rounds.waiting.max()),
        peak_tokens=int(rounds.tokens.max()),
        evictions=int(timeline.evictions.sum()),
        recomputed_tokens=int(timeline.recomputed.sum()),
    )


def serving_lines(
    timeline: Timeline, slo: Slo | None = None, measured: MeasuredLatencies | None = None
) -> list[tuple[str, str]]:
    """Return labels and values of a summary, in seconds, measured values below simulated ones."""
    slo = slo or SERVER_SLO
    found, real = serving(timeline, slo), {} if measured is None else spreads(measured)
    lines = []
    for name in SPREADS:
        lines += _spread_lines(name.upper(), name, vars(found))
        if name in real:
            label = f"{name.upper()} {_MEASURED}"
            lines += _spread_lines(label, name, real[name], simulated=vars(found))
    rates = f"{found.request_throughput:.3f} requests/s, {found.output_throughput:.1f} output "
    rates += f"tokens/s, {found.total_token_throughput:.1f} tokens/s"
    lines.append(("throughput", rates))
    share = 100 * float(good(timeline, slo).mean())
    lines.append(("goodput", f"{found.goodput:.3f} requests/s, {share:.1f} % of them  ({slo})"))
    again = f"{found.recomputed_tokens:,} tokens computed again"
    lines.append(("evictions", f"{found.evictions:,}  ({again})"))
    peak = f"mean {found.mean_waiting:.1f} requests waiting, most {found.peak_waiting:,}"
    return [*lines, ("queue", peak)]


def measured_lines(measured: MeasuredLatencies) -> list[tuple[str, str]]:
    """Return labels and values of the measured TTFT, TPOT and E2EL, times in seconds."""
    return [
        line
        for name, spread in spreads(measured).items()
        for line in _spread_lines(f"{name.upper()} {_MEASURED}", name, spread)
    ]


def latencies(timeline: Timeline) -> MeasuredLatencies:
    """Return the latencies of a timeline, as if they were measured."""
    first_tokens = timeline.first_tokens - timeline.arrivals
    return MeasuredLatencies(first_tokens, timeline.latencies, timeline.outputs)


def spreads(measured: MeasuredLatencies) -> dict[str, Spread]:
    """Return mean and percentiles of TTFT, TPOT and E2EL, by the name of the metric."""
    per_token = tpots(measured)
    samples: dict[str, NDArray[np.float64] | Ints] = {
        "ttft": measured.first_tokens,
        "tpot": per_token[~np.isnan(per_token)],
        "e2el": measured.latencies,
    }
    return {
        name: _spread(name, values, np.ones(len(values), np.int64))
        for name, values in samples.items()
    }


def _spread_lines(
    label: str,
    name: str,
    spread: Mapping[str, float | None],
    simulated: Mapping[str, float | None] | None = None,
) -> list[tuple[str, str]]:
    """Return the line of a mean and its percentiles, with simulated errors; none without values."""
    values = [spread[f"{each}_{name}_ms"] for each in ("mean", "p50", "p90", "p99")]
    mean, *rest = (f"{(each or 0.0) / 1000:.3f}" for each in values)
    shares = ", ".join(f"p{p} {value}" for p, value in zip(PERCENTILES, rest, strict=True))
    errors = []
    for each in ("mean", f"p{PERCENTILES[-1]}"):
        found, real = (of[f"{each}_{name}_ms"] for of in (simulated or spread, spread))
        if simulated and found is not None and real:
            errors.append(f"{each} {100 * (found / real - 1):+.1f} %")
    error = f" (simulated: {', '.join(errors)})" if errors else ""
    return [] if None in values else [(label, f"mean {mean} s, {shares}{error}")]


def tpots(measured: MeasuredLatencies) -> NDArray[np.float64]:
    """Return the time per output token after the first (ns), shape (n,); NaN for one token."""
    more = measured.outputs - 1
    after = measured.latencies - measured.first_tokens
    return np.where(more > 0, after / np.maximum(more, 1), np.nan)


def good(timeline: Timeline, slo: Slo) -> NDArray[np.bool_]:
    """Check for each request if it keeps all limits, shape (n,)."""
    kept = np.ones(len(timeline.arrivals), dtype=bool)
    if slo.ttft is not None:
        kept &= timeline.first_tokens - timeline.arrivals <= slo.ttft
    if slo.tpot is not None:
        # In integers: a time of exactly the limit is within it.  Times the limit could overflow.
        after = timeline.completions - timeline.first_tokens
        kept &= -(-after // np.maximum(timeline.outputs - 1, 1)) <= slo.tpot
    if slo.e2el is not None:
        kept &= timeline.latencies <= slo.e2el
    return kept


def goodput(timeline: Timeline, slo: Slo) -> float:
    """Return the requests per second that keep all limits."""
    return int(good(timeline, slo).sum()) / (timeline.duration / NANOSECONDS)


def beyond(timeline: Timeline, model: BatchTime) -> str:
    """Return one line on rounds that exceed the measurements of the batch time, else nothing."""
    if model.range is None:
        return ""
    rounds, limit = timeline.rounds, model.range
    larger = (rounds.prefilled > limit.prefill) | (rounds.decoding > limit.decoding)
    count = int((larger | (rounds.read > limit.read)).sum())
    share = f"{count:,} of {len(rounds):,} rounds"
    return f"{share} are larger than {model.name} was measured for, {limit}" if count else ""


def percentile(values: NDArray[np.float64] | Ints, counts: Ints, percent: float) -> float:
    """Return a percentile of values that occur several times each, by linear interpolation."""
    order = np.argsort(values, kind="stable")
    last = np.cumsum(counts[order])
    place = (int(last[-1]) - 1) * percent / 100
    below = int(place)
    low, high = (
        float(values[order[np.searchsorted(last, at, side="right")]])
        for at in (below, min(below + 1, int(last[-1]) - 1))
    )
    return low + (high - low) * (place - below)


def _spread(name: str, values: NDArray[np.float64] | Ints, counts: Ints) -> Spread:
    keys = [f"mean_{name}_ms", *(f"p{percent}_{name}_ms" for percent in PERCENTILES)]
    if not len(values):
        return dict.fromkeys(keys)
    mean = float((values.astype(float) * counts).sum()) / int(counts.sum())
    found = [mean, *(percentile(values, counts, percent) for percent in PERCENTILES)]
    return dict(zip(keys, (each / MILLISECOND for each in found), strict=True))
