"""Compiled inner loops of ``layers``; what is proved there is not repeated here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from formulations.lagrangian.kernels import start_cost
from formulations.search._tables import NONE

_ONE = np.uint64(1)


class Rules(NamedTuple):
    """Memory, states kept, states compared for dominance, and the switches of one pass."""

    memory: int
    width: int
    compare: int
    shift: bool
    merge: bool
    equal: bool
    patterns: bool


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
        low = min(max(t, start) + 1, length)
        high = max(low, min(start + output[i] + 1, length))
        total += unit * (output[i] - arrival[i])
        total += start_cost(unit, start, prompt[i], low, high, sums, moments)
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

    A state is compared with at most ``compare`` surviving states of its set, none for 0.
    """
    masks, _, costs, _, _, profiles = layer
    alive = np.ones(count, np.bool_)
    if compare == 0:
        return alive
    by_cost = np.argsort(costs[:count], kind="mergesort")
    order = by_cost[np.argsort(masks[:count][by_cost], kind="mergesort")]
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


@njit(cache=True)
def _next_fitting(i, t, mask, held, requests, rules):
    """Return the first request from position i on that may start at round t; n without one.

    ``held`` are the tokens at t, t + 1, ..., shape (reach,).
    """
    arrival, prompt, output, _, _ = requests
    while i < len(arrival):
        if not mask & (_ONE << np.uint64(i)) and arrival[i] <= t:
            # Of equal requests the first not started goes first.
            fits = True
            for j in range(i if rules.equal else 0):
                if (
                    not mask & (_ONE << np.uint64(j))
                    and arrival[j] == arrival[i]
                    and prompt[j] == prompt[i]
                    and output[j] == output[i]
                ):
                    fits = False
                    break
            e = output[i] if fits else 0
            while e > 0 and held[e] + prompt[i] + e <= rules.memory:
                e -= 1
            if fits and e == 0:
                return i
        i += 1
    return i


@njit(cache=True)
def _after_shift(t, need, starts, output, full):
    """Return who must still show that it could not start earlier, and whether nobody failed to.

    ``full`` tells that memory is full at time t + 1.
    """
    for j in range(len(output)):
        if (need >> np.uint64(j)) & _ONE:
            if starts[j] + output[j] == t + 1:
                return need, False
            if full:
                need &= ~(_ONE << np.uint64(j))
    return need, True


@njit(cache=True)
def _keep(t, following, made, table, state, later, tables, rules, limit):
    """Add a state to the following layer unless a rule drops it.

    Parameters
    ----------
    state : tuple
        Set of started requests, those that the shift rule still asks of, cost, a bound, starts, and
        the tokens at t, t + 1, ..., shape (reach,).
    later : array, shape (reach,)
        Where those at t + 1, t + 2, ... are written.
    limit : int
        Bound (scaled) up to which a state may lead to a better schedule.

    Returns
    -------
    tuple
        The number of states of the following layer, and the least bound lost here.
    """
    requests, of_prices, of_patterns = tables
    mask, need, cost, bound, starts, held = state
    lost = NONE
    bound = max(bound, _bound(t + 1, mask, starts, requests, of_prices))
    if bound <= limit and rules.patterns:
        bound = max(bound, _pattern_bound(t + 1, mask, starts, requests, of_patterns))
    if bound > limit:
        return made, lost
    if rules.shift:
        full = len(held) > 1 and held[1] == rules.memory
        need, fine = _after_shift(t, need, starts, requests[2], full)
        if not fine:
            return made, lost
    if made == len(following[0]):
        made, lost = _shrink(following, made, table, rules.width)
    later[:-1] = held[1:]
    later[-1] = 0
    merge = rules.merge
    made = _insert(following, made, table, mask, need, cost, bound, starts, later, merge)
    return made, lost


@njit(cache=True)
def _decide(t, now, state, following, made, table, scratch, tables, rules, best, best_starts):
    """Add what becomes of one state by every choice of starts at round t; returns as ``_keep``.

    In ``scratch``, ``profile[d, e]`` are the tokens at time t + e with the first d of a choice; the
    row d = 0 is that of the state, and e = 0 is decided.
    """
    profile, later = scratch
    masks, needs, costs, bounds, all_starts, profiles = now
    arrival, prompt, output, _, _ = tables[0]
    unit = tables[1][5]
    n, lost = len(arrival), NONE
    full = (_ONE << np.uint64(n)) - _ONE
    chosen = np.zeros(n + 1, np.int64)
    starts = all_starts[state].copy()
    mask, need, cost = masks[state], needs[state], costs[state]
    profile[0] = profiles[state]
    depth, i, fresh = 0, 0, True
    while True:
        if fresh and mask != full:
            # The choice made so far is one branch by itself.
            one = (mask, need, cost, bounds[state], starts, profile[depth])
            limit = (best[0] - 1) * unit
            made, least = _keep(t, following, made, table, one, later, tables, rules, limit)
            lost = min(lost, least)
        elif fresh and cost < best[0]:
            best[0] = cost
            best_starts[:] = starts
        i = _next_fitting(i, t, mask, profile[depth], tables[0], rules)
        fresh = i < n
        if fresh:
            bit = _ONE << np.uint64(i)
            profile[depth + 1] = profile[depth]
            for e in range(1, output[i] + 1):
                profile[depth + 1, e] += prompt[i] + e
            mask |= bit
            starts[i] = t
            cost += t + output[i] - arrival[i]
            if t > arrival[i] and profile[0, 0] + prompt[i] + 1 <= rules.memory:
                need |= bit
            depth += 1
            chosen[depth] = i
        elif depth == 0:
            return made, lost
        else:
            i = chosen[depth]
            bit = _ONE << np.uint64(i)
            mask &= ~bit
            need &= ~bit
            cost -= t + output[i] - arrival[i]
            starts[i] = 0
            depth -= 1
        i += 1


@njit(cache=True, nogil=True)
def advance(t, now, count, following, table, tables, rules, best, best_starts):
    """Decide the starts at round t for all states of a layer and fill the following layer.

    Parameters
    ----------
    now, following : tuple of arrays
        Of each state its set, those that the shift rule still asks of, cost, bound, starts, tokens.
    tables : tuple
        The requests with their windows, and ``_tables.price_tables`` and ``pattern_tables``.
    best : array of int, shape (1,)
        TEL of the best schedule (written), with its starts in ``best_starts``.

    Returns
    -------
    tuple
        The number of states of the following layer, and the least bound lost.
    """
    unit = tables[1][5]
    bounds, profiles = now[3], now[5]
    table[:] = -1
    made, lost = 0, NONE
    alive = _undominated(now, count, rules.compare)
    reach = profiles.shape[1]
    profile = np.zeros((len(tables[0][0]) + 1, reach), np.int64)
    scratch = (profile, np.zeros(reach, profiles.dtype))
    for state in range(count):
        if alive[state] and bounds[state] <= (best[0] - 1) * unit:
            made, least = _decide(
                t, now, state, following, made, table, scratch, tables, rules, best, best_starts
            )
            lost = min(lost, least)
    if made > rules.width:
        made, least = _shrink(following, made, table, rules.width)
        lost = min(lost, least)
    return made, lost
