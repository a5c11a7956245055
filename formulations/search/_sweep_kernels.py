"""Compiled inner loops of ``sweep``; what is proved there is not repeated here."""

from __future__ import annotations

import numpy as np
from numba import njit

_NONE = np.int64(1) << np.int64(61)


@njit(cache=True, nogil=True)
def start_slack(outputs, arrivals, first, pay, unit, starts, slack):
    """Fill what a start p costs beyond the least of its kind; return the sum-free least costs.

    ``slack[p, g]`` is filled for p < ``starts``, far more than any window before the arrival.
    """
    end = len(pay) - 1
    least = np.empty(len(outputs), np.int64)
    for g in range(len(outputs)):
        best = _NONE
        for p in range(starts):
            if p < arrivals[g]:
                slack[p, g] = _NONE
                continue
            cost = unit * (p + outputs[g] - arrivals[g])
            for j in range(1, min(outputs[g], end - p) + 1):
                cost += pay[p + j, first[g] + j - 1]
            slack[p, g] = cost
            best = min(best, cost)
        least[g] = best
        for p in range(arrivals[g], starts):
            slack[p, g] -= best
    return least


@njit(cache=True, nogil=True)
def behind_table(rules, low, high, table):
    """Fill table[t, e, m]: the most that requests with less than e rounds left pay at time t.

    They hold at most m tokens together, any kind any number of times, and start no later than
    t − 1 and at a slack within the window.
    """
    memory = table.shape[2] - 1
    best = np.zeros(memory + 1, np.int64)
    for t in range(max(low, 1), high):
        best[:] = 0
        table[t, 0] = 0
        for e in range(1, table.shape[1]):
            for g in range(len(rules.first)):
                age = rules.outputs[g] - (e - 1)
                p = t - age
                if age < 1 or p < 0 or p >= len(rules.dear) or rules.dear[p, g] > rules.window:
                    continue
                state = rules.first[g] + age - 1
                value = rules.pay[t, state]
                held = rules.tokens[state]
                if value > 0:
                    for m in range(held, memory + 1):
                        best[m] = max(best[m], best[m - held] + value)
            table[t, e] = best


@njit(cache=True, nogil=True)
def _enterable(t, rules):
    """Return which kinds may complete at t, and the most that any of them still gain by tokens."""
    kinds = len(rules.first)
    able = np.zeros(kinds, np.bool_)
    row = min(t, len(rules.worth) - 1)
    gain = np.zeros(rules.behind.shape[2], np.int64)
    for g in range(kinds):
        p = t - rules.outputs[g]
        if p < 0 or p >= len(rules.dear) or rules.dear[p, g] > rules.window:
            continue
        able[g] = True
        value = rules.pay[row, rules.last[g]] - rules.dear[p, g]
        held = rules.tokens[rules.last[g]]
        if value > 0:
            for m in range(held, len(gain)):
                gain[m] = max(gain[m], gain[m - held] + value)
    return able, gain


@njit(cache=True, nogil=True)
def _behind(t, members, number, rules, room):
    """Return what is lost at least at the times before t + 1, given who runs at t and at t + 1.

    It stops once that is more than ``room``.
    """
    total = np.int64(0)
    rows, depth, memory = rules.behind.shape
    for e in range(1, depth):
        u = t + 1 - e
        if u < 1:
            break
        held, paid, still = 0, np.int64(0), 0
        row = min(u, len(rules.worth) - 1)
        for x in range(number):
            state = members[x] - (e - 1)
            if state >= rules.first[rules.kind[members[x]]]:
                held += rules.tokens[state]
                paid += rules.pay[row, state]
                still += 1
        if still == 0:
            break
        if u < rows:
            lost = rules.worth[row] - paid - rules.behind[u, e, memory - 1 - held]
            if lost > 0:
                total += lost
                if total > room:
                    break
    return total


@njit(cache=True, nogil=True)
def _next_base(members, number, chosen, depth, rules, base):
    """Write who of a node runs one round earlier, in order; return how many and their key."""
    x, y, count, key = 0, 0, 0, np.uint64(0)
    while x < number or y < depth:
        # What completes is the last state of its kind, so both lists are in order.
        if y == depth or (x < number and members[x] <= rules.last[chosen[y]]):
            state = np.int64(members[x])
            x += 1
        else:
            state = rules.last[chosen[y]]
            y += 1
        if state > rules.first[rules.kind[state]]:
            base[count] = state - 1
            key += rules.keys[state - 1]
            count += 1
    return count, key


@njit(cache=True, nogil=True)
def _longer(array):
    return np.concatenate((array, np.empty_like(array)))


@njit(cache=True, nogil=True)
def _room(size, members):
    return (
        np.empty((size, members.shape[1]), members.dtype),
        np.empty(size, np.int16),
        np.empty(size, np.int64),
        np.empty(size, np.uint64),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
    )


@njit(cache=True, nogil=True)
def _roomier(out):
    members, number, slack, key, origin, end = out
    return (
        _longer(members), _longer(number), _longer(slack), _longer(key), _longer(origin),
        _longer(end),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _begin(t, level, base, rules, count, spent, held, paid):
    """Set what a base at t has spent, holds and pays, and how many of each kind it has."""
    members, number, slack = level
    row = min(t, len(rules.worth) - 1)
    count[:] = 0
    held[0], paid[0], spent[0] = 0, 0, slack[base]
    for x in range(number[base]):
        state = members[base, x]
        count[rules.kind[state]] += 1
        held[0] += rules.tokens[state]
        paid[0] += rules.pay[row, state]


@njit(cache=True, nogil=True)
def _leave(t, level, base, chosen, depth, after, rules, out, made):
    """Write the base at t − 1 that a node leaves; tell whether it can be within the window."""
    members, number, slack, key, origin, _ = out
    count, code = _next_base(level[0][base], level[1][base], chosen, depth, rules, members[made])
    room = rules.window - after
    if _behind(t - 1, members[made], count, rules, room) > room:
        return False
    number[made], slack[made], key[made], origin[made] = count, after, code, base
    return True


@njit(cache=True, nogil=True)
def _next_kind(t, g, able, count, spent, held, rules):
    """Return the first kind from g on of which one more may complete at t."""
    while g < len(able):
        if (
            able[g]
            and count[g] < rules.counts[g]
            and held + rules.tokens[rules.last[g]] <= rules.memory
            and spent + rules.dear[t - rules.outputs[g], g] <= rules.window
        ):
            break
        g += 1
    return g


@njit(cache=True, nogil=True)
def _complete(t, g, depth, rules, spent, held, paid):
    """Add what one more request that completes at t costs, holds and pays."""
    state = rules.last[g]
    spent[depth + 1] = spent[depth] + rules.dear[t - rules.outputs[g], g]
    held[depth + 1] = held[depth] + rules.tokens[state]
    paid[depth + 1] = paid[depth] + rules.pay[min(t, len(rules.worth) - 1), state]


@njit(cache=True, nogil=True)
def _listed(entered, listed, chosen, depth):
    while listed + depth > len(entered):
        entered = _longer(entered)
    for y in range(depth):
        entered[listed + y] = chosen[y]
    return entered


@njit(cache=True, nogil=True)
def expand(t, level, low, high, rules, most):
    """Return the bases at t − 1 that nodes at t of the bases ``low``..``high`` − 1 leave.

    ``level`` are members, their number and the slack of each base at t; the same of each base left
    is returned, with its key, its origin, where what it let complete ends among the kinds that are
    listed next, and whether there were ``most`` of them, where it stops.
    """
    width = level[0].shape[1]
    row = min(t, len(rules.worth) - 1)
    able, gain = _enterable(t, rules)
    out = _room(max(1024, 2 * (high - low)), level[0])
    entered = np.empty(1024, np.uint16)
    made, listed, many = 0, 0, False
    count = np.zeros(len(able), np.int64)
    chosen = np.zeros(width + 2, np.int64)
    spent = np.zeros(width + 2, np.int64)
    held, paid = np.zeros_like(spent), np.zeros_like(spent)
    for base in range(low, high):
        _begin(t, level, base, rules, count, spent, held, paid)
        depth, g, fresh = 0, 0, True
        while not many:
            if fresh:
                fresh = False
                after = spent[depth] + rules.worth[row] - paid[depth]
                if after <= rules.window:
                    if made == len(out[1]):
                        out = _roomier(out)
                    if _leave(t, level, base, chosen, depth, after, rules, out, made):
                        entered = _listed(entered, listed, chosen, depth)
                        listed += depth
                        out[5][made] = listed
                        made += 1
                        many = made >= most
                if len(gain) > 1 and after - gain[rules.memory - held[depth]] > rules.window:
                    g = len(able)
            g = _next_kind(t, g, able, count, spent[depth], held[depth], rules)
            if g < len(able):
                _complete(t, g, depth, rules, spent, held, paid)
                count[g] += 1
                chosen[depth] = g
                depth, fresh = depth + 1, True
            elif depth == 0:
                break
            else:
                depth -= 1
                g = chosen[depth]
                count[g] -= 1
                g += 1
    members, number, slack, key, origin, end = out
    return (
        members[:made], number[:made], slack[:made], key[:made], origin[:made], end[:made],
        entered[:listed], many,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def merge(bases, part, parts, places):
    """Find the different bases among those whose key falls to one part.

    Bases of equal keys are compared member by member.

    Parameters
    ----------
    bases
        Members, number, slack and key of each.
    places : array of int32
        Filled for the bases of this part: which of the different ones it is.

    Returns
    -------
    Position of one of each, and the least slack of those equal to it.
    """
    members, number, slack, keys = bases
    mine = 0
    for x in range(len(number)):
        mine += (keys[x] >> np.uint64(48)) % np.uint64(parts) == np.uint64(part)
    slots = 16
    while slots < 2 * mine:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    mask = np.uint64(slots - 1)
    found = np.empty(mine, np.int32)
    least = np.empty(mine, np.int64)
    different = 0
    for x in range(len(number)):
        if (keys[x] >> np.uint64(48)) % np.uint64(parts) != np.uint64(part):
            continue
        slot = keys[x] & mask
        while table[slot] >= 0:
            other = found[table[slot]]
            if (
                keys[other] == keys[x]
                and number[other] == number[x]
                and np.array_equal(members[other, : number[x]], members[x, : number[x]])
            ):
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = different
            found[different], least[different] = x, slack[x]
            different += 1
        else:
            least[table[slot]] = min(least[table[slot]], slack[x])
        places[x] = table[slot]
    return found[:different], least[:different]
