"""Compiled steps of the evaluation of sweeps: levels of bases, and what they lose before them.

The members of base b of a level are ``members[offsets[b]:offsets[b + 1]]``, states rising.
"""

import numpy as np

from support.kernel_cache import compile_kernel, compile_part

#: Columns of a kind that may complete: state at the peak, its tokens, its cost, kind, how many
#: complete at a time, how many run at a time.
STATE, PEAK, COST, KIND, AT_A_TIME, TOGETHER = range(6)
#: Probes of a table of bases after which a base takes a new place.
PROBES = 64


@compile_part()
def room_for(array, used, more):
    """Return an array with places for ``more`` after the used ones, the same if it has them."""
    if used + more <= len(array):
        return array
    larger = np.empty(max(2 * len(array), used + more), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


@compile_part()
def one_round_before(base, ages, chosen, out, at):
    """Write the members of a base and the chosen peaks one round younger; return the end."""
    i = k = 0
    while i < len(base) or k < len(chosen):
        if k == len(chosen) or (i < len(base) and base[i] <= chosen[k]):
            state, i = base[i], i + 1
        else:
            state, k = chosen[k], k + 1
        if ages[state] > 1:
            out[at] = state - 1
            at += 1
    return at


@compile_part()
def slot_of(slots, hashes, offsets, members, key, first, end):
    """Return the slot of the base that equals members[first:end], or a new one, or −1."""
    slot = np.int64(key & np.uint64(len(slots) - 1))
    for _ in range(PROBES):
        known = slots[slot]
        if known < 0:
            return slot
        if hashes[known] == key and offsets[known + 1] - offsets[known] == end - first:
            low = offsets[known]
            same = True
            for i in range(end - first):
                if members[low + i] != members[first + i]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & (len(slots) - 1)
    # Two rows for one base are as valid as one.
    return np.int64(-1)


@compile_part()
def filled(hashes, count, size):
    """Return a table of so many slots with all bases."""
    slots = np.full(size, -1, dtype=np.int64)
    for each in range(count):
        slot = np.int64(hashes[each] & np.uint64(size - 1))
        for _ in range(PROBES):
            if slots[slot] < 0:
                slots[slot] = each
                break
            slot = (slot + 1) & (size - 1)
    return slots


@compile_part()
def key_of(members, first, end):
    """Return 64 bits that are equal for equal members."""
    key = np.uint64(1469598103934665603)
    for i in range(first, end):
        key = (key ^ np.uint64(members[i])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


@compile_part()
def choices(able, gain, scale, limits, runs, used, path, held, label, found):
    """Fill every choice of completions next to a base, with its label.

    Returns their number, −1 where they do not fit into ``found``, and the steps; ``used`` stays.
    """
    places, ends, labels = found
    number, depth, k, steps, fresh = 0, 0, 0, 0, True
    while True:
        steps += 1
        if fresh and label <= limits[1]:
            first = ends[number]
            if number == len(labels) or first + depth > len(places):
                used[:] = 0
                return np.int64(-1), steps
            places[first : first + depth] = path[:depth]
            labels[number] = label
            number += 1
            ends[number] = first + depth
        fresh = False
        if k < len(able):
            left = limits[0] - held - able[k, PEAK]
            if (
                left >= 0
                and label + able[k, COST] - gain[left >> scale] <= limits[1]
                and used[k] < able[k, AT_A_TIME]
                and runs[able[k, KIND]] + used[k] < able[k, TOGETHER]
            ):
                fresh = True
                path[depth] = k
                used[k] += 1
                held += able[k, PEAK]
                label += able[k, COST]
                depth += 1
            else:
                k += 1
        elif depth:
            depth -= 1
            k = path[depth]
            used[k] -= 1
            held -= able[k, PEAK]
            label -= able[k, COST]
            k += 1
        else:
            return number, steps
        if steps > limits[2]:
            used[:] = 0
            return number, steps


@compile_part()
def room_of(size):
    """Return places, ends and labels of so many choices."""
    return np.empty(size, np.int64), np.zeros(size + 1, np.int64), np.empty(size, np.int64)


@compile_part()
def all_choices(able, gain, scale, limits, runs, used, path, held, label, found):
    """Return the results of :func:`choices`, and ``found``, larger where they did not fit."""
    number, steps = choices(able, gain, scale, limits, runs, used, path, held, label, found)
    while number < 0 and 4 * len(found[0]) <= limits[4]:
        found = room_of(4 * len(found[0]))
        number, more = choices(able, gain, scale, limits, runs, used, path, held, label, found)
        steps += more
    return number, steps, found


@compile_part()
def merge(base, number, found, able, ages, bases, slots, count, to):
    """Add the bases of the choices next to a base, or lower their labels; return the bases' number.

    ``to`` gets the base of each choice.
    """
    places, ends, labels = found
    members, offsets, least, hashes = bases
    peaks = np.empty(ends[number] + 1, dtype=np.int64)
    for each in range(number):
        depth = ends[each + 1] - ends[each]
        for i in range(depth):
            peaks[i] = able[places[ends[each] + i], STATE]
        first = offsets[count]
        end = one_round_before(base, ages, peaks[:depth], members, first)
        key = key_of(members, first, end)
        slot = slot_of(slots, hashes, offsets, members, key, first, end)
        at = slots[slot] if slot >= 0 else np.int64(-1)
        if at < 0:
            at = count
            count += 1
            offsets[count], least[at], hashes[at] = end, labels[each], key
            if slot >= 0:
                slots[slot] = at
        least[at] = min(least[at], labels[each])
        to[each] = at
    return count


@compile_part()
def list_ways(b, label, number, found, able, to, ways, entered, first):
    """List the choices next to base b of that label, and their kinds from a place on."""
    places, ends, labels = found
    for each in range(number):
        ways[each] = b, to[each], labels[each] - label, first + ends[each]
    for i in range(ends[number]):
        entered[first + i] = able[places[i], KIND]


@compile_part()
def held_and_paid(base, states, pay, runs):
    """Return tokens and payments of a base; ``runs`` counts its members of each kind."""
    _, tokens, kinds = states
    held = paid = 0
    for state in base:
        held += tokens[state]
        paid += pay[state]
        runs[kinds[state]] += 1
    return held, paid


@compile_kernel()
def step_back(level, states, pay, worth, able, gain, scale, limits, keep):
    """Return the bases at t − 1 of a level at t, by every choice of completions at t.

    ``level`` has members, offsets, labels; ``states`` ages, tokens and kinds of all states.  States
    ``pay`` at t so much, at most ``worth`` together.  Kinds ``able`` to complete lower a label by
    ``gain`` at most, by tokens in units of 2^``scale``.  ``limits`` are memory, largest label, most
    steps, bases, members and completions.

    Returns members, offsets, labels, steps and numbers held (more than allowed where it gives up),
    and, to ``keep``, the ways (origin, end, addition, place of their kinds) and these kinds.
    """
    old, offsets, labels = level
    ages, _, kinds = states
    members, ends = np.empty(1024, np.int32), np.zeros(256, np.int64)
    least, hashes = np.empty(256, np.int64), np.empty(256, np.uint64)
    slots, to = np.full(1024, -1, dtype=np.int64), np.empty(256, np.int64)
    ways, entered = np.empty((0, 4), np.int64), np.empty(0, np.int32)
    runs, used = np.zeros(kinds[-1] + 1, np.int64), np.zeros(len(able), np.int64)
    path, found = np.empty(limits[5] + 1, np.int64), room_of(1024)
    count = arcs = enters = steps = 0
    for b in range(len(labels)):
        base = old[offsets[b] : offsets[b + 1]]
        held, paid = held_and_paid(base, states, pay, runs)
        label = labels[b] + worth - paid
        number, more, found = all_choices(
            able, gain, scale, limits, runs, used, path, held, label, found
        )
        for state in base:
            runs[kinds[state]] = 0
        steps += more + 8 * (number * (len(base) + 1) + found[1][max(number, 0)])
        more = max(number, 0) * len(base) + found[1][max(number, 0)]
        listed = max(ends[count] + more, 4 * (arcs + max(number, 0)) + enters + more)
        if number < 0 or count + number > limits[3] or listed > limits[4] or steps > limits[2]:
            held = 0 if steps > limits[2] else np.int64(1) << 60
            return members[:0], ends[:1], least[:0], steps, held, ways[:0], entered[:0]
        members = room_for(members, ends[count], number * len(base) + found[1][number])
        ends, least = room_for(ends, count + 1, number), room_for(least, count, number)
        hashes, to = room_for(hashes, count, number), room_for(to, 0, number)
        if 4 * (count + number) > len(slots):
            size = len(slots)
            while size < 8 * (count + number):
                size *= 2
            slots = filled(hashes, count, size)
        bases = (members, ends, least, hashes)
        count = merge(base, number, found, able, ages, bases, slots, count, to)
        if keep:
            if arcs + number > len(ways):
                ways = np.concatenate((ways, np.empty((len(ways) + number, 4), np.int64)))
            entered = room_for(entered, enters, found[1][number])
            list_ways(b, labels[b], number, found, able, to, ways[arcs:], entered, enters)
            arcs, enters = arcs + number, enters + found[1][number]
    members, ends, least = members[: ends[count]], ends[: count + 1], least[:count]
    return members, ends, least, steps, np.int64(0), ways[:arcs], entered[:enters]


@compile_kernel()
def lost_before(level, states, pay, worth, ahead, t, limits, lost):
    """Fill the least loss before t, given the bases at t − 1 and t; return the steps.

    It stops where loss and label exceed the limit.
    """
    members, offsets, labels = level
    ages, tokens, _ = states
    memory, limit = limits[0], limits[1]
    steps = 0
    for b in range(len(labels)):
        total = 0
        for e in range(1, len(ahead)):
            u = t - e
            if u < 1 or labels[b] + total > limit:
                break
            if u >= len(worth):
                continue
            held = paid = 0
            for i in range(offsets[b], offsets[b + 1]):
                state = members[i]
                if ages[state] >= e:
                    held += tokens[state] - e + 1
                    paid += pay[u, state - e + 1]
            steps += offsets[b + 1] - offsets[b] + 4
            # No member runs before.
            if not held:
                break
            total += max(worth[u] - paid - ahead[e, max(memory - held, 0), u], 0)
        lost[b] = total
    return steps


@compile_kernel()
def chosen_bases(members, offsets, which):
    """Return members and offsets of some bases of a level."""
    ends = np.zeros(len(which) + 1, dtype=np.int64)
    for k in range(len(which)):
        ends[k + 1] = ends[k] + offsets[which[k] + 1] - offsets[which[k]]
    packed = np.empty(ends[-1], dtype=np.int32)
    for k in range(len(which)):
        packed[ends[k] : ends[k + 1]] = members[offsets[which[k]] : offsets[which[k] + 1]]
    return packed, ends
