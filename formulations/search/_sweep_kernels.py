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
def expand(t, level, low, high, rules, most):
    """Return the bases at t − 1 that nodes at t of the bases ``low``..``high`` − 1 leave.

    Parameters
    ----------
    level
        Members, their number and the slack of each base at t.
    most
        Bases beyond which it stops: the last value returned tells whether it did.

    Returns
    -------
    Members, number, slack, key and origin of each base left; where what it let complete ends among
    the kinds that are listed next; and whether there were too many.
    """
    members, number, slack = level
    kinds, width = len(rules.first), members.shape[1]
    row = min(t, len(rules.worth) - 1)
    worth = rules.worth[row]
    able, gain = _enterable(t, rules)
    bounded = len(gain) > 1
    size = max(1024, 2 * (high - low))
    made = 0
    out_members = np.empty((size, width), members.dtype)
    out_number = np.empty(size, np.int16)
    out_slack = np.empty(size, np.int64)
    out_key = np.empty(size, np.uint64)
    out_origin = np.empty(size, np.int32)
    out_end = np.empty(size, np.int64)
    entered = np.empty(size, np.uint16)
    listed = 0
    count = np.zeros(kinds, np.int64)
    chosen = np.zeros(width + 2, np.int64)
    spent = np.zeros(width + 2, np.int64)
    held = np.zeros(width + 2, np.int64)
    paid = np.zeros(width + 2, np.int64)
    for base in range(low, high):
        count[:] = 0
        held[0], paid[0], spent[0] = 0, 0, slack[base]
        for x in range(number[base]):
            state = members[base, x]
            count[rules.kind[state]] += 1
            held[0] += rules.tokens[state]
            paid[0] += rules.pay[row, state]
        depth, g, fresh = 0, 0, True
        while True:
            if fresh:
                fresh = False
                after = spent[depth] + worth - paid[depth]
                if after <= rules.window:
                    if made >= most:
                        break
                    if made == len(out_number):
                        out_members = _longer(out_members)
                        out_number, out_slack = _longer(out_number), _longer(out_slack)
                        out_key, out_origin = _longer(out_key), _longer(out_origin)
                        out_end = _longer(out_end)
                    left, key = _next_base(
                        members[base], number[base], chosen, depth, rules, out_members[made]
                    )
                    room = rules.window - after
                    if _behind(t - 1, out_members[made], left, rules, room) <= room:
                        out_number[made], out_slack[made], out_key[made] = left, after, key
                        out_origin[made] = base
                        while listed + depth > len(entered):
                            entered = _longer(entered)
                        for y in range(depth):
                            entered[listed + y] = chosen[y]
                        listed += depth
                        out_end[made] = listed
                        made += 1
                if bounded and after - gain[rules.memory - held[depth]] > rules.window:
                    g = kinds
            while g < kinds:
                if (
                    able[g]
                    and count[g] < rules.counts[g]
                    and held[depth] + rules.tokens[rules.last[g]] <= rules.memory
                    and spent[depth] + rules.dear[t - rules.outputs[g], g] <= rules.window
                ):
                    break
                g += 1
            if g < kinds:
                count[g] += 1
                chosen[depth] = g
                state = rules.last[g]
                spent[depth + 1] = spent[depth] + rules.dear[t - rules.outputs[g], g]
                held[depth + 1] = held[depth] + rules.tokens[state]
                paid[depth + 1] = paid[depth] + rules.pay[row, state]
                depth += 1
                fresh = True
            elif depth == 0:
                break
            else:
                depth -= 1
                g = chosen[depth]
                count[g] -= 1
                g += 1
        if made >= most:
            break
    return (
        out_members[:made],
        out_number[:made],
        out_slack[:made],
        out_key[:made],
        out_origin[:made],
        out_end[:made],
        entered[:listed],
        made >= most,
    )


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
