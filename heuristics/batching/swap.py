"""Batches by local swaps (wang2025 Alg. 3), from the smallest peaks or from any other start.

A swap keeps the batch size, so F falls if and only if ``o_in < o_out``.  The paper leaves the order
of the loops open: here both go by ascending peak s + o, ties by arrival, then by position.  The
first improving swap that fits is made and both loops start anew.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from heuristics.batching import Mask, batches
from heuristics.policy import Ints, Known

_NONE = np.int64(2**62)


def batches_by_swaps(known: Known) -> Iterator[Ints]:
    """Yield batches, each the smallest peaks that fit, improved by swaps (W Alg. 3)."""
    return batches_by_swaps_from(known, known.sorted_by(known.peaks))


def batches_by_swaps_from(known: Known, first: Ints) -> Iterator[Ints]:
    """Yield batches, each what fits in the order ``first``, improved by swaps (W Alg. 7)."""
    peaks, outputs = known.peaks, known.outputs
    places = np.empty(len(first), dtype=np.int64)
    places[first] = np.arange(len(first))

    def choose(line: Ints) -> Mask:
        inside = np.zeros(len(line), dtype=np.bool_)
        by_place = np.argsort(places[line])
        inside[by_place[first_fit(peaks[line[by_place]], known.memory)]] = True
        return improve_by_swaps(peaks[line], outputs[line], inside, known.memory)

    return batches(known, known.sorted_by(peaks), choose)


def improve_by_swaps(peaks: Ints, outputs: Ints, inside: Mask, memory: int) -> Mask:
    """Return the batch after all swaps of W Alg. 3, lines 9-33; requests come by ascending peak.

    For an ``r_out``, the requests outside with a smaller output are candidates, and the first of
    them has the least peak: if it does not fit, none does.  It stands where the running minimum
    of the outputs outside first falls below o_out, so one pass over the requests finds the
    candidates of the whole batch.  ``inside`` is the batch to start from, which fits.
    """
    inside = inside.copy()
    spare = memory - int(peaks[inside].sum())
    # The size k never changes, and k − 1 members stay: no larger peak than this can ever come in.
    largest = memory - int(peaks[: np.count_nonzero(inside) - 1].sum())
    reach = int(np.searchsorted(peaks, largest, side="right"))
    peaks, outputs, window = peaks[:reach], outputs[:reach], inside[:reach]
    members = np.flatnonzero(window)
    outside = np.where(window, _NONE, outputs)
    while True:
        descent = -np.minimum.accumulate(outside)
        candidates = np.searchsorted(descent, -outputs[members], side="right")
        there = np.minimum(candidates, reach - 1)
        fits = (candidates < reach) & (peaks[there] <= peaks[members] + spare)
        place = int(fits.argmax())
        if not fits[place]:
            return inside
        out, into = int(members[place]), int(candidates[place])
        spare -= int(peaks[into] - peaks[out])
        window[out], window[into] = False, True
        outside[out], outside[into] = outputs[out], _NONE
        members = np.flatnonzero(window)


def first_fit(sizes: Ints, capacity: int) -> NDArray[np.intp]:
    """Return the places of the requests that fit one after the other, passing over misfits.

    Equal to adding them one by one, but in runs: what exceeds the capacity that is left is
    dropped, then all up to the first that does not fit in the sum are taken at once.
    """
    chosen = []
    smallest = int(sizes.min(initial=capacity + 1))
    begin, step = 0, 4096
    while begin < len(sizes) and capacity >= smallest:
        window = sizes[begin : begin + step]
        small = np.flatnonzero(window <= capacity)
        sums = np.cumsum(window[small])
        count = int(np.searchsorted(sums, capacity, side="right"))
        chosen.append(begin + small[:count])
        if count:
            capacity -= int(sums[count - 1])
        begin += int(small[count]) + 1 if count < len(small) else step
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.intp)
