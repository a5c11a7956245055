"""Compiled kernels of prices on states, in floating point: cheapest starts, best patterns."""

import numpy as np

from formulations.lagrangian.compiled_array_functions import longer
from support.kernel_cache import compile_kernel


@compile_kernel(fastmath=True)
def cheapest_starts_use(classes, of, values, knots, times, first, stop, starts, use):
    """Return the costs of the cheapest starts of classes first..stop − 1, each times its requests.

    Prices ``values``, shape (knots, states), are linear between knots, else 0.  A row of
    ``classes`` has first and last start, output, place in ``of`` of the first state, requests.
    The kernel fills ``starts`` and adds to ``use``, shaped as ``values``, the requests in a state,
    spread over the two knots around the time.  ``times`` are 0.0, 1.0, ..., the last knot.
    """
    total, last, final = 0.0, knots[-1], len(knots) - 1
    costs = np.empty(1)
    for each in range(first, stop):
        begin, output, place = classes[each, 0], classes[each, 2], classes[each, 3]
        count = classes[each, 1] - begin + 1
        if count > len(costs):
            costs = np.empty(count)
        for x in range(count):
            costs[x] = begin + x
        low_knot = 0
        for j in range(1, output + 1):
            q, ahead = of[place + j - 1], begin + j
            while low_knot < final and knots[low_knot + 1] <= ahead:
                low_knot += 1
            for k in range(low_knot, final):
                low, high = max(knots[k], ahead), min(knots[k + 1], ahead + count)
                if high <= low:
                    break
                slope = (values[k + 1, q] - values[k, q]) / (knots[k + 1] - knots[k])
                level = values[k, q] - slope * knots[k]
                for t in range(low, high):
                    costs[t - ahead] += level + slope * times[t]
            if ahead <= last < ahead + count:
                costs[last - ahead] += values[final, q]
        chosen = 0
        for x in range(count):
            if costs[x] < costs[chosen]:
                chosen = x
        size = float(classes[each, 4])
        total += size * costs[chosen]
        starts[each] = begin + chosen
        k = 0
        for j in range(1, output + 1):
            t, q = starts[each] + j, of[place + j - 1]
            if t < knots[0]:
                continue
            if t > last:
                break
            while k < final - 1 and knots[k + 1] <= t:
                k += 1
            share = (t - knots[k]) / (knots[k + 1] - knots[k])
            use[k, q] += size * (1.0 - share)
            use[k + 1, q] += size * share
    return total


@compile_kernel(fastmath=True)
def best_patterns_use(tokens, left, values, memory, most, weights, first, stop, use):
    """Return the weighted worth of the best patterns at the knots first..stop − 1.

    The search of ``formulations.lagrangian.price_kernels.most_worth``, in floating point.  Prices
    and ``use`` have the shape (knots, states); ``use`` loses a knot's weight at each state of its
    best pattern.
    """
    nothing, total, wide = -1e300, 0.0, memory + 1
    # Tokens of so many members, at least and at most.
    lowest = np.empty(most + 1, dtype=np.int64)
    highest = np.empty(most + 1, dtype=np.int64)
    best = np.empty((most + 1) * wide)
    step = np.empty((most + 1) * wide, dtype=np.int64)
    before = np.empty(1 << 14, dtype=np.int64)
    state = np.empty(1 << 14, dtype=np.int64)
    for knot in range(first, stop):
        for place in range(len(best)):
            best[place] = nothing
        for n in range(most + 1):
            lowest[n], highest[n] = memory, -1
        best[0], step[0], lowest[0], highest[0] = 0.0, -1, 0, 0
        steps = reached = 0
        for q in range(len(tokens)):
            value, held, rounds = values[knot, q], tokens[q], left[q]
            if value <= 0.0:
                continue
            n = 0
            while n <= reached and n < most:
                room = memory - held - (n + 1) * rounds
                if room < 0:
                    break
                low, high = lowest[n], min(room, highest[n]) + 1
                here, there = n * wide, (n + 1) * wide + held
                # Most states better nothing, which a loop without writes finds sooner.
                better = 0.0
                for now in range(low, high):
                    gain = best[here + now] + value - best[there + now]
                    better = gain if gain > better else better
                n += 1
                if better <= 0.0:
                    continue
                reached = max(reached, n)
                lowest[n] = min(lowest[n], low + held)
                highest[n] = max(highest[n], high - 1 + held)
                for now in range(low, high):
                    if best[here + now] + value <= best[there + now]:
                        continue
                    best[there + now] = best[here + now] + value
                    if steps == len(before):
                        before, state = longer(before), longer(state)
                    before[steps], state[steps] = step[here + now], q
                    step[there + now] = steps
                    steps += 1
        worth, at = 0.0, -1
        for place in range((reached + 1) * wide):
            if best[place] > worth:
                worth, at = best[place], step[place]
        while at >= 0:
            use[knot, state[at]] -= weights[knot]
            at = before[at]
        total += weights[knot] * worth
    return total
