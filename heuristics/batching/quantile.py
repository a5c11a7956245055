"""Batches by quantiles of a sample (wang2025 Alg. 4).

For every batch half of the remaining requests (at least one) are drawn without replacement; Q_p and
Q_o are the smallest values that at least 30 % of the sample's peaks s + o and outputs do not
exceed. Requests with s + o ≤ Q_p and o ≤ Q_o enter by ascending output, then all others by
ascending share o / (s + o), each if it still fits.  Equal outputs go by arrival, then by position;
equal shares by output, arrival and position, which is what a stable sort of the paper's list gives.
"""

from fractions import Fraction

import numpy as np

from heuristics.batching import Mask, batches
from heuristics.batching.swap import first_fit
from heuristics.policy import Ints, Known

#: Below this peak, two different shares differ by more than floating-point division can hide.
_EXACT_DIVISION = 2**26


def order_by_quantiles(known: Known) -> Ints:
    """Order requests by batches of Alg. 4, in near-linear time a batch."""
    peaks, outputs = known.peaks, known.outputs
    line = known.sorted_by(outputs)
    by_share = _sorted_by_share(known, line)
    waits = np.ones(len(line), dtype=np.bool_)
    places = np.empty(len(line), dtype=np.int64)

    def choose(line: Ints) -> Mask:
        nonlocal by_share
        chosen = np.zeros(len(line), dtype=np.bool_)
        line_peaks, line_outputs = peaks[line], outputs[line]
        sample = draw_sample(len(line), known.rng)
        q_peak = _lower_quantile(line_peaks[sample])
        q_output = _lower_quantile(line_outputs[sample])
        core = np.flatnonzero(
            line_peaks[: np.searchsorted(line_outputs, q_output, side="right")] <= q_peak
        )
        chosen[core[first_fit(line_peaks[core], known.memory)]] = True
        waits[line[chosen]] = False
        by_share = by_share[waits[by_share]]
        more = by_share[first_fit(peaks[by_share], known.memory - int(line_peaks[chosen].sum()))]
        if len(more):
            places[line] = np.arange(len(line))
            chosen[places[more]] = True
            waits[more] = False
            by_share = by_share[waits[by_share]]
        return chosen

    return np.concatenate(list(batches(known, line, choose)))


def draw_sample(n: int, rng: np.random.Generator) -> Ints:
    """Return the places of a random half of n requests, at least one."""
    return rng.choice(n, max(1, n // 2), replace=False, shuffle=False)


def _lower_quantile(values: Ints) -> int:
    place = (3 * len(values) + 9) // 10 - 1
    return int(np.partition(values, place)[place])


def _sorted_by_share(known: Known, line: Ints) -> Ints:
    """Return positions by ascending o / (s + o), ties in the order of ``line``."""
    peaks, outputs = known.peaks[line], known.outputs[line]
    if peaks.max() < _EXACT_DIVISION:
        return line[np.argsort(outputs / peaks, kind="stable")]
    shares = [Fraction(*each) for each in zip(outputs.tolist(), peaks.tolist(), strict=True)]
    return line[sorted(range(len(line)), key=shares.__getitem__)]
