"""Compiled inner loops of ``backward``; what is proved there is not repeated here."""

import numpy as np

from formulations.lagrangian.compiled_array_functions import longer, more_rows, nowhere
from support.kernel_cache import compile_filling_part, compile_kernel, compile_part

_NONE = np.int64(1) << np.int64(61)
#: Arrays without room: none, of bases, of kinds.
NOTHING, BASES, KINDS = 0, 1, 2


@compile_kernel()
def start_slack(outputs, arrivals, first, pay, unit, starts, slack):
    """Fill the cost of a start p beyond its kind's least; return the least costs.

    ``slack[p, g]`` is filled for p < ``starts``; before the arrival it exceeds any window.
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


@compile_kernel()
def behind_table(rules, low, high, table):
    """Fill table[t, e, m]: the most that requests with less than e rounds left pay at time t.

    They hold at most m tokens together, any kind any number of times.  They start by t − 1, at a
    slack within the window.
    """
    memory = table.shape[2] - 1
    best = np.zeros(memory + 1, np.int64)
    for t in range(max(low, 1), high):
        # Number by number: an assignment of a row takes two seconds to compile.
        for m in range(memory + 1):
            best[m] = table[t, 0, m] = 0
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
            for m in range(memory + 1):
                table[t, e, m] = best[m]


@compile_part()
def _enterable(t, rules):
    """Return the kinds that may complete at t; by kind cost of its start, price, peak, knapsack.

    The knapsack is the most gain of completions from each kind on, by tokens; of one entry where it
    would be too large.
    """
    kinds = len(rules.first)
    dear, pay = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
    peak = np.zeros(kinds, np.int64)
    able, number = np.empty(kinds, np.int64), kinds
    row = min(t, len(rules.worth) - 1)
    most = rules.behind.shape[2]
    gain = np.zeros((kinds, most), np.int64)
    for g in range(kinds - 1, -1, -1):
        if g < kinds - 1:
            for m in range(most):
                gain[g, m] = gain[g + 1, m]
        p = t - rules.outputs[g]
        if p < 0 or p >= len(rules.dear) or rules.dear[p, g] > rules.window:
            continue
        pay[g], peak[g] = rules.pay[row, rules.last[g]], rules.tokens[rules.last[g]]
        number -= 1
        able[number] = g
        dear[g] = rules.dear[p, g] + rules.tolls[g]
        value = pay[g] - dear[g]
        if value > 0:
            for m in range(peak[g], most):
                gain[g, m] = max(gain[g, m], gain[g, m - peak[g]] + value)
    if most == 1:
        for g in range(kinds):
            gain[g, 0] = _NONE
    return able[number:], dear, pay, peak, gain


@compile_part()
def _before(t, rules):
    """Return tokens and payments at t − e, e = 0, 1, ..., of each kind that completes at t.

    The third, by e and tokens held at t − e, is the worth there beyond all that still fits.
    """
    rounds, memory, rows = rules.behind.shape[1], rules.behind.shape[2] - 1, len(rules.pay)
    held = np.zeros((len(rules.first), rounds), np.int64)
    paid = np.zeros((len(rules.first), rounds), np.int64)
    lost = np.empty((rounds, memory + 1), np.int64)
    for e in range(rounds):
        for m in range(memory + 1):
            lost[e, m] = -_NONE
    for g in range(len(rules.first)):
        if t >= rules.outputs[g]:
            for e in range(min(rules.outputs[g], rounds)):
                state = rules.last[g] - e
                held[g, e] = rules.tokens[state]
                paid[g, e] = rules.pay[min(t - e, rows - 1), state]
    for e in range(max(1, t - len(rules.behind) + 1), min(rounds, t + 1)):
        for m in range(memory + 1):
            lost[e, m] = rules.worth[t - e] - rules.behind[t - e, e, memory - m]
    return held, paid, lost


@compile_filling_part()
def _behind(depth, longest, held, paid, lost, room):
    """Return the least loss at times before t, given the running requests at t.

    ``held`` and ``paid`` of a depth are their tokens and payments at t − e, for e up to
    ``longest``.  It stops at a loss above ``room``; below a room of 0 it returns 0.
    """
    total = np.int64(0)
    for e in range(1, min(longest, len(lost) - 1) + 1):
        if total > room:
            break
        total += max(lost[e, held[depth, e]] - paid[depth, e], 0)
    return total


@compile_filling_part()
def _next_base(members, number, base, chosen, depth, first, last, kind, keys, written, made):
    """Write the members of a node one round earlier, in order; return their number and key."""
    x, y, count, key = 0, 0, 0, np.uint64(0)
    while x < number or y < depth:
        # A completion is the last state of its kind, so both lists are in order.
        if y == depth or (x < number and members[base, x] <= last[chosen[y]]):
            state, x = np.int64(members[base, x]), x + 1
        else:
            state, y = last[chosen[y]], y + 1
        if state > first[kind[state]]:
            written[made, count] = state - 1
            key += keys[state - 1]
            count += 1
    return count, key


@compile_filling_part()
def _begin(t, members, number, base, first, kind, tokens, pay, count, held, paid):
    """Set a base's tokens and payments at t − e, e = 0, 1, ..., and its number of each kind.

    Returns the most rounds since a start.
    """
    rows = len(pay)
    oldest = np.int64(0)
    for g in range(len(count)):
        count[g] = 0
    for e in range(held.shape[1]):
        held[0, e], paid[0, e] = 0, 0
    for x in range(number):
        state = np.int64(members[base, x])
        count[kind[state]] += 1
        longest = state - first[kind[state]]
        oldest = max(oldest, longest)
        for e in range(min(longest, held.shape[1] - 1) + 1):
            held[0, e] += tokens[state - e]
            paid[0, e] += pay[min(t - e, rows - 1), state - e]
    return oldest


@compile_filling_part()
def _next_kind(x, able, dear, own, peak, gain, counts, count, memory, room, spare):
    """Return the first place from x on of a kind of which one more may complete.

    Its start costs at most ``spare``, and all other completions gain at most a knapsack.
    """
    most = gain.shape[1] - 1
    while x < len(able):
        g = able[x]
        if (
            peak[g] <= memory
            and dear[g] <= spare
            and count[g] < counts[g]
            and room + own[g] - dear[g] >= -gain[g, min(memory - peak[g], most)]
        ):
            break
        x += 1
    return x


@compile_filling_part()
def _complete(depth, g, own_held, own_paid, held, paid):
    """Fill tokens and payments with one more completion at t, a depth further."""
    for e in range(held.shape[1]):
        held[depth + 1, e] = held[depth, e] + own_held[g, e]
        paid[depth + 1, e] = paid[depth, e] + own_paid[g, e]


@compile_kernel()
def expand(t, level, low, high, rules, sizes, most):
    """Return the bases at t − 1 that nodes at t of the bases ``low``..``high`` − 1 leave.

    ``level`` are members, their number and the slack of each base at t.  Returned are members and
    key of each base left; a row of their number, slack, origin, and end among the kinds listed
    next; these kinds; and whether it stopped at ``most``, by the ``sizes`` of a base and a kind.
    """
    width = level[0].shape[1]
    entering, before = _enterable(t, rules), _before(t, rules)
    size = max(1024, 2 * (high - low))
    left, code = np.empty((size, width), np.uint16), np.empty(size, np.uint64)
    rows, entered = np.empty((size, 4), np.int64), np.empty(max(1024, width), np.uint16)
    kinds, behind = len(rules.first), rules.behind.shape[1]
    work = (
        np.zeros(kinds, np.int64), np.zeros(width + 2, np.int64), np.zeros(width + 2, np.int64),
        np.zeros(width + 2, np.int64), np.zeros(width + 2, np.int64),
        np.zeros((width + 2, behind), np.int64), np.zeros((width + 2, behind), np.int64),
    )  # fmt: skip
    base, made, listed, short = low, np.int64(0), np.int64(0), BASES
    while base < high and short != NOTHING:
        base, made, listed, short = _fill(
            t, level, base, high, rules, sizes, most, entering, before, work, left, code, rows,
            entered, made, listed,
        )  # fmt: skip
        if short == BASES:
            left, code, rows = more_rows(left), longer(code), more_rows(rows)
        elif short == KINDS:
            entered = longer(entered)
    return left[:made], code[:made], rows[:made], entered[:listed], base < high


# Without numba's runtime for memory, which would count references by atomic steps in these loops.
@compile_part(_nrt=False)
def _fill(
    t, level, low, high, rules, sizes, most, entering, before, work, left, code, rows, entered,
    made, listed,
):  # fmt: skip
    """Fill the bases left, from one on; return where it stopped, and the numbers filled.

    It stops before a base without room, and returns the array that lacks it; or at ``most``.
    """
    members, number, slack = level
    (able, dear, own, peak, gain), (own_held, own_paid, lost) = entering, before
    count, chosen, places, spent, oldest, held, paid = work
    first, last, kind, keys, counts = rules.first, rules.last, rules.kind, rules.keys, rules.counts
    tokens, pay, worth = rules.tokens, rules.pay, rules.worth
    base_size, kind_size = sizes
    memory, present = rules.memory, worth[min(t, len(worth) - 1)]
    limit = rules.limits[min(t, len(rules.limits)) - 1]
    # Where some completions cost less than 0, cost alone drops none.
    most_spent = limit
    for g in range(len(dear)):
        if dear[g] < 0:
            most_spent = _NONE
    for base in range(low, high):
        begun, began = made, listed
        spent[0], size = slack[base], number[base]
        oldest[0] = _begin(t, members, size, base, first, kind, tokens, pay, count, held, paid)
        depth, x, fresh = 0, 0, True
        while True:
            if base_size * made + kind_size * listed >= most:
                return base, made, listed, NOTHING
            room = limit - (spent[depth] + present - paid[depth, 0])
            if fresh and room >= _behind(depth, oldest[depth], held, paid, lost, room):
                if made == len(code):
                    return base, begun, began, BASES
                if listed + depth > len(entered):
                    return base, begun, began, KINDS
                rows[made, 0], code[made] = _next_base(
                    members, size, base, chosen, depth, first, last, kind, keys, left, made
                )
                for y in range(depth):
                    entered[listed + y] = chosen[y]
                listed += depth
                rows[made, 1], rows[made, 2], rows[made, 3] = limit - room, base, listed
                made += 1
            free, spare = memory - held[depth, 0], most_spent - spent[depth]
            x = _next_kind(x, able, dear, own, peak, gain, counts, count, free, room, spare)
            fresh = x < len(able)
            if fresh:
                g = able[x]
                _complete(depth, g, own_held, own_paid, held, paid)
                spent[depth + 1] = spent[depth] + dear[g]
                oldest[depth + 1] = max(oldest[depth], last[g] - first[g])
                count[g], chosen[depth], places[depth] = count[g] + 1, g, x
                depth += 1
            elif depth == 0:
                break
            else:
                depth -= 1
                x = places[depth] + 1
                count[chosen[depth]] -= 1
    return high, made, listed, NOTHING


@compile_part()
def _equal(members, a, b, number):
    for k in range(number):  # noqa: SIM110, which numba compiles slowly
        if members[a, k] != members[b, k]:
            return False
    return True


@compile_kernel()
def merge(bases, part, parts, places):
    """Return the position of one of each different base of a part, by its key, and the least slack.

    ``bases`` are members, number, slack and key of each; equal keys compare members.  ``places``
    gets the number of each base of this part among the different ones.
    """
    members, number, slack, keys = bases
    mine = 0
    for x in range(len(number)):
        mine += (keys[x] >> np.uint64(48)) % np.uint64(parts) == np.uint64(part)
    slots = 16
    while slots < 2 * mine:
        slots *= 2
    table = nowhere(slots)
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
                and _equal(members, other, x, number[x])
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
