"""Compiled loop over narrow levels of backward dynamic programming, one after the other.

Between two levels Python takes half a millisecond, as long as a narrow level itself.
"""

import numpy as np

from formulations.dp.base_kernels import expand, merge
from formulations.dp.dominance_kernels import among, measure
from formulations.lagrangian.compiled_array_functions import in_order, longer, nowhere, ordered
from support.kernel_cache import compile_kernel, compile_part

#: Most bases made of a narrow level, and of all levels in one sweep.
NARROW, ENOUGH = 8_000, 60_000


@compile_kernel()
def descend(t, level, rules, by, beam, keep):
    """Sweep from the bases at t on, down to time 0 or to a level that is not narrow.

    ``level`` are members, number and label of each base at t.  ``by`` compares bases at times
    0, 1, ...: debts, lanes, totals, the highest bit of each lane; without times it compares
    nothing.  A ``beam`` of each level goes on.

    Returns the time reached and its level; with ``keep`` the arcs (origin, to, cost, first and
    number of their completions, and these); the end of each level's arcs, its bases, and the number
    of all bases made.
    """
    members, number, slack = level
    zero, one, narrow = np.int64(0), np.int64(1), np.int64(NARROW)  # else a kernel for each number
    each = (one, zero)
    arcs = (np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int64))
    lists = (np.empty(1024, np.int64), np.empty(1024, np.int16), np.empty(1024, np.uint16))
    ends, sizes = np.empty(t, np.int64), np.empty(t, np.int64)
    done, count, listed, total = 0, zero, zero, 0
    while t > 0 and len(number) > 0 and total < ENOUGH:
        left, code, rows, entered, full = expand(t, (members, number, slack), zero, len(number),
                                                 rules, each, narrow)  # fmt: skip
        if full:
            break
        total += len(code)
        held, labels = np.empty(len(code), np.int16), np.empty(len(code), np.int64)
        for x in range(len(code)):
            held[x], labels[x] = rows[x, 0], rows[x, 1]
        places = np.empty(len(code), np.int32)
        chosen, least = merge((left, held, labels, code), zero, one, places)
        bases, numbers, _ = _some((left, held, labels), chosen)
        level = (bases, numbers, least)
        kept = _followed(t - 1, level, by, beam)
        new = nowhere(len(chosen))
        for k in range(len(kept)):
            new[kept[k]] = k
        begin = zero
        for x in range(len(code) if keep else 0):
            end = rows[x, 3]
            if new[places[x]] >= 0:
                if count == len(arcs[0]):
                    arcs = (longer(arcs[0]), longer(arcs[1]), longer(arcs[2]))
                    lists = (longer(lists[0]), longer(lists[1]), lists[2])
                while listed + end - begin > len(lists[2]):
                    lists = (lists[0], lists[1], longer(lists[2]))
                arcs[0][count], arcs[1][count] = rows[x, 2], new[places[x]]
                arcs[2][count] = labels[x] - slack[rows[x, 2]]
                lists[0][count], lists[1][count] = listed, end - begin
                for y in range(begin, end):
                    lists[2][listed] = entered[y]
                    listed += 1
                count += 1
            begin = end
        members, number, slack = _some(level, kept)
        ends[done], sizes[done] = count, len(kept)
        done, t = done + 1, t - 1
    found = (
        arcs[0][:count], arcs[1][:count], arcs[2][:count], lists[0][:count], lists[1][:count],
        lists[2][:listed],
    )  # fmt: skip
    return t, (members, number, slack), found, ends[:done], sizes[:done], total


@compile_part()
def _some(level, kept):
    """Return members, number and label of some bases of a level."""
    members, number, slack = level
    size, width = len(kept), members.shape[1]
    found = (np.empty((size, width), np.uint16), np.empty(size, np.int16), np.empty(size, np.int64))
    for k in range(size):
        found[1][k], found[2][k] = number[kept[k]], slack[kept[k]]
        for y in range(width):
            found[0][k, y] = members[kept[k], y]
    return found


@compile_part()
def _followed(t, level, by, beam):
    """Return the undominated bases at t, at most a beam, in increasing order."""
    owed, profiles, totals, high = by
    size, zero = len(level[1]), np.int64(0)
    if len(owed) == 0 or size == 0:
        return in_order(size)
    own, sums = np.empty(size, np.int64), np.empty(size, np.int64)
    vectors = np.empty((size, profiles.shape[1]), np.uint64)
    measure(level, zero, size, owed[min(t, len(owed) - 1)], profiles, totals, own, sums, vectors)
    order = ordered(own, sums)
    words = vectors.shape[1]
    moved, points = np.empty((size, words), np.uint64), np.empty((size, words), np.uint64)
    for k in range(size):
        for w in range(vectors.shape[1]):
            moved[k, w] = vectors[order[k], w]
    dropped, signs = np.zeros(size, np.bool_), np.empty(size, np.uint64)
    made = among(moved, zero, size, dropped, points, signs, zero, high)
    kept = np.zeros(size, np.bool_)
    if made <= beam:
        for k in range(size):
            kept[order[k]] = not dropped[k]
    else:
        labels, places = np.empty(made, np.int64), np.empty(made, np.int64)
        made = 0
        for k in range(size):
            if not dropped[k]:
                labels[made], places[made] = level[2][order[k]], order[k]
                made += 1
        best = ordered(labels, places)
        for k in range(beam):
            kept[places[best[k]]] = True
    places, made = np.empty(size, np.int64), 0
    for k in range(size):
        if kept[k]:
            places[made] = k
            made += 1
    return places[:made]
