"""Compiled kernels of the Lagrangian: priced starts, tokens held, the best patterns; integers.

Imported only where an instance is large enough to pay for loading the compiler.
"""

import numpy as np

from support.kernel_cache import compile_filling_part, compile_kernel


@compile_filling_part()
def start_cost(unit, start, prompt, low, high, sums, moments):
    """Return ``unit``·start plus the payments of the tokens at the times low..high − 1.

    The formula of ``costs.PriceSums``, with its sums.  Kernels that use it contain it, also in
    ``formulations.dp.state_kernels``: numba finds them stale by their file only.
    """
    return (
        unit * start + (prompt - start) * (sums[high] - sums[low]) + (moments[high] - moments[low])
    )


@compile_kernel()
def cheapest_starts(
    arrivals, latest, prompts, outputs, sums, moments, unit, first, stop, costs, starts
):
    """Fill the least cost of a start, and the first start that has it, for classes first..stop-1.

    On 64-bit integers the result is exact; the same source serves floating point.  ``arrivals`` and
    ``latest`` are the first and last start round to be tried, shape (classes,); ``sums``,
    ``moments`` and ``unit`` are those of ``costs.PriceSums``, of one type.
    """
    length = len(sums) - 1
    for each in range(first, stop):
        prompt, output, begin = prompts[each], outputs[each], arrivals[each]
        # Past the last price a later start only costs more.
        end = min(latest[each], max(begin, length - 1))
        low, high = min(begin + 1, length), min(begin + output + 1, length)
        best = start_cost(unit, begin, prompt, low, high, sums, moments)
        chosen = begin
        inner = min(end, length - 1 - output)
        start = begin + 1
        while start <= inner:
            # Prices are at least 0, so a start costs at least its round.
            if unit * start >= best:
                break
            block = min(inner + 1, start + 64)
            for t in range(start, block):
                cost = start_cost(unit, t, prompt, t + 1, t + output + 1, sums, moments)
                if cost < best:
                    best, chosen = cost, t
            start = block
        for t in range(max(start, inner + 1), end + 1):
            if unit * t >= best:
                break
            cost = start_cost(unit, t, prompt, t + 1, length, sums, moments)
            if cost < best:
                best, chosen = cost, t
        costs[each], starts[each] = best, chosen


@compile_kernel()
def token_use(members, offsets, starts, prompts, outputs, sizes, knot, share, use):
    """Fill ``use``, (clusters, knots + 1): token-rounds of each cluster for given starts, by knot.

    The tokens held at time t count with 1 − ``share[t]`` for knot ``knot[t]`` and with
    ``share[t]`` for the next one; times past the last entry count nowhere.  The classes of
    cluster c are members[offsets[c]:offsets[c + 1]].
    """
    end = len(knot)
    for cluster in range(len(offsets) - 1):
        for k in range(use.shape[1]):
            use[cluster, k] = 0.0
        for position in range(offsets[cluster], offsets[cluster + 1]):
            each = members[position]
            start = starts[each]
            for t in range(start + 1, min(start + outputs[each] + 1, end)):
                tokens = float(sizes[each] * (prompts[each] + t - start))
                use[cluster, knot[t]] += (1.0 - share[t]) * tokens
                use[cluster, knot[t] + 1] += share[t] * tokens


@compile_kernel()
def most_worth(tokens, left, values, memory, most):
    """Return the worth of the most valuable pattern.

    States come in order of falling ``left``.  The search adds them one after the other, a state
    any number of times.  When it adds (w, r) to k requests that hold W tokens now, all of these
    have at least r rounds left, so memory suffices at its completion if and only if
    W + w + (k + 1)·r ≤ M: the condition of ``formulations.valid.running_states``, which reads only
    k and W. So the best value for each (k, W) is exact over all patterns that may repeat a state; a
    schedule's patterns are among them.
    """
    best = np.empty((most + 1, memory + 1), dtype=np.int64)
    for n in range(most + 1):
        for now in range(memory + 1):
            best[n, now] = -1
    best[0, 0] = 0
    reached, worth = 0, np.int64(0)
    for k in range(len(tokens)):
        value = values[k]
        if value <= 0:
            continue
        held = tokens[k]
        rounds = left[k]
        # ``reached`` grows while the same state is added again.
        n = 0
        while n <= reached and n < most:
            room = memory - held - (n + 1) * rounds
            if room < 0:
                break
            for now in range(room + 1):
                if best[n, now] < 0 or best[n, now] + value <= best[n + 1, now + held]:
                    continue
                best[n + 1, now + held] = best[n, now] + value
                worth = max(worth, best[n, now] + value)
                reached = max(reached, n + 1)
            n += 1
    return worth


@compile_kernel()
def least_costs(arrivals, latest, outputs, offsets, of, values, knots, unit):
    """Return the least ``unit``·start + priced states of the starts arrivals_i..latest_i.

    ``values`` has the shape (knots, states).  The price of state q at time t between knots
    a ≤ t < b is ⌊((b − t)·values[a, q] + (t − a)·values[b, q]) / (b − a)⌋, outside of them 0.  The
    states of request i are of[offsets[i]:offsets[i] + outputs[i]].
    """
    last = knots[-1]
    span = np.zeros(last + 1, dtype=np.int64)
    for k in range(len(knots) - 1):
        for t in range(knots[k], knots[k + 1]):
            span[t] = k
    span[last] = len(knots) - 2
    least = np.empty(len(arrivals), dtype=np.int64)
    for i in range(len(arrivals)):
        for start in range(arrivals[i], latest[i] + 1):
            cost = unit * start
            for j in range(1, outputs[i] + 1):
                t = start + j
                if t < knots[0]:
                    continue
                if t > last:
                    break
                k = span[t]
                q = of[offsets[i] + j - 1]
                low = knots[k]
                high = knots[k + 1]
                cost += ((high - t) * values[k, q] + (t - low) * values[k + 1, q]) // (high - low)
            if start == arrivals[i] or cost < least[i]:
                least[i] = cost
    return least
