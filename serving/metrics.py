"""Serving metrics of a timeline, by the names and definitions of ``vllm bench serve`` and Vidur.

With arrival a, first token f, completion c and o output tokens of a request:

- TTFT (time to first token): f − a.  Vidur's ``prefill_e2e_time``.
- E2EL (end-to-end latency): c − a.  Vidur's ``request_e2e_time``.
- TPOT (time per output token after the first): (c − f) / (o − 1); requests of one token have none.
- ITL (inter-token latency): the time from each token to the next of its request, all pooled.
- Normalized latency: (c − a) / o.  Vidur's ``request_e2e_time_normalized``.
- Scheduling delay: from the arrival to the round in which it first runs.  Vidur's
  ``request_scheduling_delay``.
- Duration: from the first arrival to the last completion.  Throughputs are per second of it.
- Goodput: requests per second that keep all limits of an objective; a request of one token keeps
  every limit on TPOT.

Percentiles interpolate between order statistics: that of p % of m values is at place
(m − 1) · p / 100, as NumPy has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from instances.batch_time import NANOSECONDS, BatchTime
from schedules.clock.timeline import Ints, Timeline
from serving.slo import Slo
from serving.traces.measured import Measured

#: Nanoseconds of a millisecond.
MILLISECOND = NANOSECONDS // 1000
PERCENTILES = (50, 90, 99)
#: What has a mean and percentiles, as in ``mean_ttft_ms`` and ``p99_ttft_ms``.
SPREADS = ("ttft", "tpot", "itl", "e2el")
#: Follows the name of what was measured, where a summary has what is simulated, too.
_MEASURED = "measured"


@dataclass(frozen=True)
class Serving:
    """The metrics of one schedule in seconds; times in milliseconds as ``vllm bench serve`` has.

    A mean is None where there is nothing to be averaged, as for TPOT and ITL where every output has
    one token.  Throughputs are requests, output tokens, and all tokens per second.  Requests that
    run and wait, and tokens held, are averaged over the time in which rounds run.
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
    mean_running: float
    mean_waiting: float
    mean_tokens: float
    peak_waiting: int
    peak_tokens: int
    evictions: int
    recomputed_tokens: int


#: The metrics by name, in their order.
METRICS = tuple(each.name for each in fields(Serving))


def serving(timeline: Timeline) -> Serving:
    """Compute all metrics of a timeline but the goodput."""
    found: dict[str, float | None] = {}
    for name, (values, counts) in _samples(timeline).items():
        found |= _spread(name, values, counts)
    seconds = timeline.duration / NANOSECONDS
    rounds = timeline.rounds
    output = int(timeline.outputs.sum())
    return Serving(
        **found,
        mean_normalized_ms=float((timeline.latencies / timeline.outputs).mean()) / MILLISECOND,
        mean_delay_ms=float((timeline.begins - timeline.arrivals).mean()) / MILLISECOND,
        duration_s=seconds,
        request_throughput=len(timeline.arrivals) / seconds,
        output_throughput=output / seconds,
        total_token_throughput=(output + int(timeline.prompts.sum())) / seconds,
        mean_running=_over_time(rounds.running, rounds.durations),
        mean_waiting=_over_time(rounds.waiting, rounds.durations),
        mean_tokens=_over_time(rounds.tokens, rounds.durations),
        peak_waiting=int(rounds.waiting.max()),
        peak_tokens=int(rounds.tokens.max()),
        evictions=int(timeline.evictions.sum()),
        recomputed_tokens=int(timeline.recomputed.sum()),
    )


def serving_lines(
    timeline: Timeline, slo: Slo | None = None, measured: Measured | None = None
) -> list[tuple[str, str]]:
    """Return labels and values of what a summary tells of the metrics, times in seconds.

    Under each that was measured, too, stands what was measured.
    """
    found = serving(timeline)
    beside = {} if measured is None else spreads(measured)
    lines = []
    for name in SPREADS:
        lines += _told(name.upper(), name, vars(found))
        if name in beside:
            error = _error(name, vars(found), beside[name])
            lines += [
                (label, text + error)
                for label, text in _told(f"{name.upper()} {_MEASURED}", name, beside[name])
            ]
    lines.append(
        (
            "throughput",
            f"{found.request_throughput:.3f} requests/s, {found.output_throughput:.1f} output "
            f"tokens/s, {found.total_token_throughput:.1f} tokens/s",
        )
    )
    if slo is not None:
        share = 100 * float(good(timeline, slo).mean())
        rate = f"{goodput(timeline, slo):.3f} requests/s"
        lines.append(("goodput", f"{rate}, {share:.1f} % of them  ({slo})"))
    again = f"{found.recomputed_tokens:,} tokens computed again"
    lines.append(("evictions", f"{found.evictions:,}  ({again})"))
    peak = f"mean {found.mean_waiting:.1f} requests waiting, most {found.peak_waiting:,}"
    lines.append(("queue", peak))
    return lines


def measured_lines(measured: Measured) -> list[tuple[str, str]]:
    """Return labels and values of what was measured, TTFT, TPOT and E2EL, times in seconds."""
    return [
        line
        for name, spread in spreads(measured).items()
        for line in _told(f"{name.upper()} {_MEASURED}", name, spread)
    ]


def spreads(measured: Measured) -> dict[str, dict[str, float | None]]:
    """Return mean and percentiles of TTFT, TPOT and E2EL, by the name of the metric."""
    per_token = _per_token(measured.first_tokens, measured.latencies, measured.outputs)
    samples: dict[str, NDArray[np.float64] | Ints] = {
        "ttft": measured.first_tokens,
        "tpot": per_token[~np.isnan(per_token)],
        "e2el": measured.latencies,
    }
    return {
        name: _spread(name, values, np.ones(len(values), dtype=np.int64))
        for name, values in samples.items()
    }


def _error(
    name: str, simulated: Mapping[str, float | None], spread: Mapping[str, float | None]
) -> str:
    """Return by how much what is simulated differs from what was measured."""
    told = []
    for each in ("mean", f"p{PERCENTILES[-1]}"):
        found, real = (values[f"{each}_{name}_ms"] for values in (simulated, spread))
        if found is not None and real:
            told.append(f"{each} {100 * (found / real - 1):+.1f} %")
    return f" (simulated: {', '.join(told)})" if told else ""


def _told(label: str, name: str, spread: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Return the line of a mean and its percentiles; none where there is nothing to be averaged."""
    told = [spread[f"{each}_{name}_ms"] for each in ("mean", "p50", "p90", "p99")]
    seconds = [each / 1000 for each in told if each is not None]
    if len(seconds) < len(told):
        return []
    mean, *rest = seconds
    shares = ", ".join(f"p{p} {v:.3f}" for p, v in zip(PERCENTILES, rest, strict=True))
    return [(label, f"mean {mean:.3f} s, {shares}")]


def tpots(timeline: Timeline) -> NDArray[np.float64]:
    """Return the time per output token after the first (ns), shape (n,); NaN for one token."""
    return _per_token(timeline.first_tokens, timeline.completions, timeline.outputs)


def _per_token(first: Ints, last: Ints, outputs: Ints) -> NDArray[np.float64]:
    more = outputs - 1
    return np.where(more > 0, (last - first) / np.maximum(more, 1), np.nan)


def good(timeline: Timeline, slo: Slo) -> NDArray[np.bool_]:
    """Tell of each request whether it keeps all limits, shape (n,)."""
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
    """Return one line if rounds are larger than the batch time was measured for, else nothing."""
    if model.range is None:
        return ""
    rounds, limit = timeline.rounds, model.range
    larger = (rounds.prefilled > limit.prefill) | (rounds.decoding > limit.decoding)
    larger |= rounds.read > limit.read
    count = int(larger.sum())
    if not count:
        return ""
    share = f"{count:,} of {len(rounds):,} rounds"
    return f"{share} are larger than {model.name} was measured for, {model.range}"


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


def _samples(timeline: Timeline) -> dict[str, tuple[NDArray[np.float64] | Ints, Ints]]:
    one = np.ones(len(timeline.arrivals), dtype=np.int64)
    per_token = tpots(timeline)
    some = ~np.isnan(per_token)
    return {
        "ttft": (timeline.first_tokens - timeline.arrivals, one),
        "tpot": (per_token[some], one[some]),
        "itl": (timeline.gaps, timeline.gap_counts),
        "e2el": (timeline.latencies, one),
    }


def _spread(name: str, values: NDArray[np.float64] | Ints, counts: Ints) -> dict[str, float | None]:
    keys = [f"mean_{name}_ms", *(f"p{percent}_{name}_ms" for percent in PERCENTILES)]
    if not len(values):
        return dict.fromkeys(keys)
    mean = float((values.astype(float) * counts).sum()) / int(counts.sum())
    told = [mean, *(percentile(values, counts, percent) for percent in PERCENTILES)]
    return dict(zip(keys, (each / MILLISECOND for each in told), strict=True))


def _over_time(values: Ints, durations: Ints) -> float:
    return float((values.astype(float) * durations).sum()) / float(durations.sum())
