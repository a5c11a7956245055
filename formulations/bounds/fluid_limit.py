"""The fluid limit: a likely horizon, prices to begin with, and knots that follow them."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

import numpy as np

from formulations.bounds.highs_lp import Floats
from formulations.lagrangian.exact_integers import exact_sum
from formulations.valid.running_states import Ints
from formulations.valid.windows import Windows
from instances import Instance

if TYPE_CHECKING:
    from formulations.bounds.pricing import RequestClasses


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries that need as much memory as the prices of all rounds."""
    del windows
    return likely_horizon(instance) // 2  # 200 bytes a round, half of an entry


def likely_horizon(instance: Instance) -> int:
    """Return a time past which memory hardly has a price; a bad guess costs quality only."""
    prompts, outputs = instance.prompts, instance.outputs
    # Twenty requests of 10⁹ tokens hold more token-rounds than 64 bits count.
    volume = exact_sum(prompts * outputs + outputs * (outputs + 1) // 2)
    work = volume * 13 // (10 * instance.memory)
    return int(instance.arrivals.max()) + work + int(outputs.max()) + 10


def fluid_prices(instance: Instance, classes: RequestClasses, horizon: int) -> Floats:
    """Return λ_t for t = 0..horizon: requests that wait in the fluid limit, over M.

    The limit works off requests in order of volume, M token-rounds a round, each from its arrival.
    """
    order = np.lexsort((classes.volumes, classes.arrivals // classes.span))
    rounds = (classes.volumes * classes.sizes.astype(float))[order] / instance.memory
    done, ends = 0.0, [0.0]
    for arrival, length in zip(classes.arrivals[order].tolist(), rounds.tolist(), strict=True):
        done = max(done, arrival) + length
        ends.append(done)
    times = np.arange(horizon + 1)
    order_of_arrival = np.argsort(classes.arrivals, kind="stable")
    counts = np.concatenate(([0], np.cumsum(classes.sizes[order_of_arrival])))
    arrived = counts[np.searchsorted(classes.arrivals[order_of_arrival], times, side="right")]
    through = np.concatenate(([0], np.cumsum(classes.sizes[order])))
    prices: Floats = np.maximum(arrived - np.interp(times, ends, through), 0.0) / instance.memory
    prices[0] = 0.0
    return prices


def fitted_knots(prices: Floats, number: int) -> Ints:
    """Return about ``number`` knots between which linear interpolation follows given prices.

    A quarter of them is even.  Then the span with the largest area between prices and chord is
    split at its middle, or the longest span where no area is left.
    """
    horizon = len(prices) - 1
    even = min(max(number // 4, 2), horizon)
    knots = np.unique(np.rint(np.linspace(1, horizon, even)).astype(np.int64))
    spans = [_span_error(prices, *pair) for pair in itertools.pairwise(knots.tolist())]
    heapq.heapify(spans)
    while spans and len(spans) < number and spans[0][3] > spans[0][2] + 1:
        _, _, low, high = heapq.heappop(spans)
        middle = (low + high) // 2
        heapq.heappush(spans, _span_error(prices, low, middle))
        heapq.heappush(spans, _span_error(prices, middle, high))
    return np.unique(np.array([1, *(high for *_, high in spans)], dtype=np.int64))


def _span_error(prices: Floats, low: int, high: int) -> tuple[float, int, int, int]:
    """Return minus the area between prices and their chord, minus the length, and the span."""
    if high - low < 2:
        return 0.0, low - high, low, high
    chord = np.linspace(prices[low], prices[high], high - low + 1)
    area = float(np.abs(prices[low : high + 1] - chord).sum())
    # What rounding leaves of an area is none.
    nothing = 1e-9 * (high - low) * float(prices[low : high + 1].max(initial=0.0))
    return -area if area > nothing else 0.0, low - high, low, high
