"""Compiled kernels of the price bounds: the cheapest start of a request, the tokens it holds.

Imported only where an instance is large enough to pay for loading the compiler.  Every kernel is
cached on disk, so that a second process only loads it.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def cheapest_starts(
    arrivals: Any,
    latest: Any,
    prompts: Any,
    outputs: Any,
    sums: Any,
    moments: Any,
    unit: Any,
    first: int,
    stop: int,
    costs: Any,
    starts: Any,
) -> None:
    """Fill the least cost of a start, and the first start that has it, for groups first..stop-1.

    A start at round t costs ``unit``·t plus the prices of the tokens held at t + 1..t + o.  With
    the prefix sums S of λ and R of t·λ that is unit·t + (s − t)(S[t + o] − S[t]) + R[t + o] − R[t],
    both taken as constant past the last price.  On 64-bit integers the result is exact; the same
    source serves floating point.

    Parameters
    ----------
    arrivals, latest, prompts, outputs : int64 arrays, shape (groups,)
        First and last start round to be tried, prompt and output (tokens).
    sums, moments : arrays of one type, shape (T + 1,)
        Prefix sums of λ_t and of t·λ_t, times 0..T.
    unit : scalar of that type
        Cost of one round.
    costs, starts : arrays, shape (groups,)
        Filled.
    """
    last = len(sums) - 1
    for group in range(first, stop):
        prompt = prompts[group]
        output = outputs[group]
        begin = arrivals[group]
        # Past the last price a later start only costs more.
        end = min(latest[group], max(begin, last))
        low = min(begin, last)
        high = min(begin + output, last)
        best = (
            unit * begin
            + (prompt - begin) * (sums[high] - sums[low])
            + (moments[high] - moments[low])
        )
        chosen = begin
        inner = min(end, last - output)
        start = begin + 1
        while start <= inner:
            # Prices are at least 0, so a start costs at least its own round.
            if unit * start >= best:
                break
            block = min(inner + 1, start + 64)
            for t in range(start, block):
                cost = (
                    unit * t
                    + (prompt - t) * (sums[t + output] - sums[t])
                    + (moments[t + output] - moments[t])
                )
                if cost < best:
                    best = cost
                    chosen = t
            start = block
        for t in range(max(start, inner + 1), end + 1):
            if unit * t >= best:
                break
            cost = unit * t + (prompt - t) * (sums[last] - sums[t]) + (moments[last] - moments[t])
            if cost < best:
                best = cost
                chosen = t
        costs[group] = best
        starts[group] = chosen


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def token_use(
    members: Any,
    offsets: Any,
    starts: Any,
    prompts: Any,
    outputs: Any,
    sizes: Any,
    knot: Any,
    share: Any,
    use: Any,
) -> None:
    """Add up the tokens that each cluster holds, spread over the knots, for given starts.

    The tokens held at time t count with 1 − ``share[t]`` for knot ``knot[t]`` and with
    ``share[t]`` for the next one; times past the last entry count nowhere.

    Parameters
    ----------
    members, offsets : int64 arrays, shapes (groups,) and (clusters + 1,)
        The groups of cluster c are members[offsets[c]:offsets[c + 1]].
    starts, prompts, outputs, sizes : int64 arrays, shape (groups,)
        Start round, prompt, output (tokens) and number of requests of each group.
    knot, share : int64 and float64 arrays, shape (T + 1,)
    use : float64 array, shape (clusters, knots + 1)
        Filled, token-rounds.
    """
    end = len(knot)
    for cluster in range(len(offsets) - 1):
        for k in range(use.shape[1]):
            use[cluster, k] = 0.0
        for position in range(offsets[cluster], offsets[cluster + 1]):
            group = members[position]
            start = starts[group]
            for t in range(start + 1, min(start + outputs[group] + 1, end)):
                tokens = float(sizes[group] * (prompts[group] + t - start))
                use[cluster, knot[t]] += (1.0 - share[t]) * tokens
                use[cluster, knot[t] + 1] += share[t] * tokens
