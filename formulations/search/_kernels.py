"""Compiled inner loops of ``layers``; what is proved there is not repeated here."""

from __future__ import annotations

import numpy as np
from numba import njit

from formulations.lagrangian.kernels import start_cost

_ONE = np.uint64(1)


@njit(cache=True)
def _bound(t, mask, starts, data, tables):
    """Return the scaled lower bound of a state in which the starts before round t are decided."""
    arrival, prompt, output, before, after = data
    later, sums, moments, opened, tail, unit = tables
    length = len(sums) - 1
    total = -tail[min(t, length)]
    for i in range(len(arrival)):
        if not (mask >> np.uint64(i)) & _ONE:
            total += later[i, t]
            continue
        start = starts[i]
        total += unit * (start + output[i] - arrival[i])
        low = min(max(t, start) + 1, length)
        high = min(start + output[i] + 1, length)
        if high > low:
            # The latency is counted, so a round costs nothing more.
            total += start_cost(0, start, prompt[i], low, high, sums, moments)
        for g in range(len(opened)):
            if after[g, i] + before[g, i] > 0:
                left = min(max(start - before[g, i], t), length)
                right = min(start + after[g, i], length)
                if right > left:
                    total += opened[g, right] - opened[g, left]
    return total


@njit(cache=True)
def _pattern_bound(t, mask, starts, data, tables):
    """Return the bound of :func:`_bound` from prices on patterns, in the same units."""
    arrival, _, output, _, _ = data
    later, paid, tail, unit, shift = tables
    length = len(tail) - 1
    total = -tail[min(t, length)]
    for i in range(len(arrival)):
        if not (mask >> np.uint64(i)) & _ONE:
            total += later[i, t]
            continue
        start = starts[i]
        total += unit * (start + output[i] - arrival[i])
        total += paid[i, start, min(t - start, output[i])]
    return total << shift if shift >= 0 else total >> -shift


@njit(cache=True)
def _hash(mask, profile):
    key = mask * np.uint64(0x9E3779B97F4A7C15)
    for value in profile[1:]:
        key = (key ^ np.uint64(value)) * np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
    return key


@njit(cache=True)
def _insert(layer, count, table, mask, need, cost, bound, starts, profile, merge):
    """Add a state, with ``merge`` unless an equal one costs no more; return how many there are."""
    masks, needs, costs, bounds, all_starts, profiles = layer
    slots = np.uint64(len(table) - 1)
    slot = _hash(mask, profile) & slots
    while merge and table[slot] >= 0:
        k = table[slot]
        if masks[k] == mask and np.array_equal(profiles[k, 1:], profile[1:]):
            if cost >= costs[k]:
                return count
            needs[k], costs[k], bounds[k] = need, cost, bound
            all_starts[k] = starts
            # Equal states may differ in what is held at this round, which the shift rule reads.
            profiles[k] = profile
            return count
        slot = (slot + _ONE) & slots
    table[slot] = count
    masks[count], needs[count], costs[count], bounds[count] = mask, need, cost, bound
    all_starts[count] = starts
    profiles[count] = profile
    return count + 1


@njit(cache=True)
def _shrink(layer, count, table, width):
    """Keep the states of least bound, ``width`` of them; return their number and the least lost."""
    masks, needs, costs, bounds, all_starts, profiles = layer
    order = np.argsort(bounds[:count])
    lost = bounds[order[width]]
    kept = np.sort(order[:width])
    table[:] = -1
    slots = np.uint64(len(table) - 1)
    for k in range(width):
        source = kept[k]
        masks[k], needs[k], costs[k] = masks[source], needs[source], costs[source]
        bounds[k] = bounds[source]
        all_starts[k] = all_starts[source]
        profiles[k] = profiles[source]
        slot = _hash(masks[k], profiles[k]) & slots
        while table[slot] >= 0:
            slot = (slot + _ONE) & slots
        table[slot] = k
    return width, lost


@njit(cache=True)
def _undominated(layer, count, compare):
    """Return which states no other state of the same set beats, the cheaper ones looked at first.

    A state is compared with at most ``compare`` surviving states of its set.
    """
    masks, _, costs, _, _, profiles = layer
    by_cost = np.argsort(costs[:count], kind="mergesort")
    order = by_cost[np.argsort(masks[:count][by_cost], kind="mergesort")]
    alive = np.ones(count, np.bool_)
    group = 0
    for position in range(count):
        state = order[position]
        if masks[state] != masks[order[group]]:
            group = position
        looked = 0
        for other in range(group, position):
            rival = order[other]
            if not alive[rival]:
                continue
            looked += 1
            if looked > compare:
                break
            below = True
            for e in range(1, profiles.shape[1]):
                if profiles[rival, e] > profiles[state, e]:
                    below = False
                    break
            if below:
                alive[state] = False
                break
    return alive


@njit(cache=True, nogil=True)
def advance(
    t, now, count, following, table, data, tables, of_patterns, rules, best, best_starts, lost
):
    """Decide the starts at round t for all states of a layer and fill the following layer.

    Parameters
    ----------
    rules : Rules
        What does not change during a pass (``formulations.search.layers``).
    best : array of int, shape (1,)
        TEL of the best schedule (written), with its starts in ``best_starts``.
    lost : array of int, shape (1,)
        Least bound of a state that was dropped (written).

    Returns
    -------
    int
        The number of states of the following layer.
    """
    arrival, prompt, output, _, _ = data
    denominator = tables[5]
    memory, width = rules.memory, rules.width
    masks, needs, costs, bounds, all_starts, profiles = now
    n = len(arrival)
    reach = profiles.shape[1]
    full = (_ONE << np.uint64(n)) - _ONE
    table[:] = -1
    made = 0
    alive = np.ones(count, np.bool_)
    if rules.dominance:
        alive = _undominated(now, count, rules.compare)
    profile = np.zeros((n + 1, reach), np.int64)
    shifted = np.zeros(reach, profiles.dtype)
    chosen = np.zeros(n + 1, np.int64)
    for state in range(count):
        if not alive[state] or bounds[state] > (best[0] - 1) * denominator:
            continue
        starts = all_starts[state].copy()
        mask, need, cost = masks[state], needs[state], costs[state]
        profile[0] = profiles[state]
        # profile[d, e] are the tokens at time t + e with the first d chosen; e = 0 is decided.
        depth, i, fresh = 0, 0, True
        while True:
            if fresh:
                # The choice made so far is one branch by itself.
                fresh = False
                if mask == full:
                    if cost < best[0]:
                        best[0] = cost
                        best_starts[:] = starts
                else:
                    value = max(bounds[state], _bound(t + 1, mask, starts, data, tables))
                    fine = value <= (best[0] - 1) * denominator
                    if fine and rules.patterns:
                        value = max(value, _pattern_bound(t + 1, mask, starts, data, of_patterns))
                        fine = value <= (best[0] - 1) * denominator
                    left = need
                    if fine and rules.shift:
                        tight = reach > 1 and profile[depth, 1] == memory
                        for j in range(n):
                            if (left >> np.uint64(j)) & _ONE:
                                if starts[j] + output[j] == t + 1:
                                    fine = False
                                elif tight:
                                    left &= ~(_ONE << np.uint64(j))
                    if fine:
                        if made == len(following[0]):
                            made, least = _shrink(following, made, table, width)
                            lost[0] = min(lost[0], least)
                        shifted[:-1] = profile[depth, 1:]
                        shifted[-1] = 0
                        made = _insert(
                            following,
                            made,
                            table,
                            mask,
                            left,
                            cost,
                            value,
                            starts,
                            shifted,
                            rules.merge,
                        )
            # Next request that fits.
            while i < n:
                bit = _ONE << np.uint64(i)
                if not mask & bit and arrival[i] <= t:
                    # Of equal requests the first not started goes first.
                    twin_free = True
                    for j in range(i if rules.equal else 0):
                        if (
                            not mask & (_ONE << np.uint64(j))
                            and arrival[j] == arrival[i]
                            and prompt[j] == prompt[i]
                            and output[j] == output[i]
                        ):
                            twin_free = False
                            break
                    if twin_free:
                        fits = True
                        for e in range(output[i], 0, -1):
                            if profile[depth, e] + prompt[i] + e > memory:
                                fits = False
                                break
                        if fits:
                            break
                i += 1
            if i < n:
                bit = _ONE << np.uint64(i)
                profile[depth + 1] = profile[depth]
                for e in range(1, output[i] + 1):
                    profile[depth + 1, e] += prompt[i] + e
                mask |= bit
                starts[i] = t
                cost += t + output[i] - arrival[i]
                if t > arrival[i] and profile[0, 0] + prompt[i] + 1 <= memory:
                    need |= bit
                depth += 1
                chosen[depth] = i
                i += 1
                fresh = True
                continue
            if depth == 0:
                break
            i = chosen[depth]
            bit = _ONE << np.uint64(i)
            mask &= ~bit
            need &= ~bit
            cost -= t + output[i] - arrival[i]
            starts[i] = 0
            depth -= 1
            i += 1
    if made > width:
        made, least = _shrink(following, made, table, width)
        lost[0] = min(lost[0], least)
    return made
