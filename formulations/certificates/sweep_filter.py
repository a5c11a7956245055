"""Compiled filter of a level: bases that another one dominates, docs/proofs/dominance.md (P5).

In the order of σ the filter compares every base with the kept ones, exactly: tokens at every
earlier time, and strict kinds.  Most comparisons end at a signature: tokens at 16 times in units
rounded down, a byte each.  It goes through the newest kept bases; 2^j · FEW older ones are a tree,
whose nodes hold lower bounds of the bases below them.
"""

import numpy as np

from support.kernel_cache import compile_kernel, compile_part

#: Kept bases that become a tree, and bases at a leaf of a tree.
FEW, LEAF = 1024, 16
#: The upper bit of each byte, free in a signature.
HIGH = np.uint64(0x8080808080808080)
#: Times in a signature and in each of its numbers; last dominators that are tried first.
TIMES, BYTES, HOT = 16, 8, 8


@compile_part()
def held_before(base, states, occupied):
    """Fill the tokens that a base holds at the time of its level, and at each time before."""
    ages, tokens, _ = states
    occupied[:] = 0
    for state in base:
        held = tokens[state]
        for k in range(ages[state]):
            occupied[k] += held - k


@compile_kernel()
def measured(level, states, pay, t, memory, strict, longest):
    """Return σ, tokens in all, signatures and strict kinds of the bases of a level at t.

    ``strict`` has the number of each strict kind, and −1 of the others.
    """
    members, offsets, labels = level
    kinds = states[2]
    unit = memory // 127 + 1
    sigma, weight = labels.copy(), np.zeros(len(labels), dtype=np.int64)
    signs = np.zeros((len(labels), TIMES // BYTES), dtype=np.uint64)
    masks = np.zeros((len(labels), max(strict.max() // 64 + 1, 1)), dtype=np.uint64)
    occupied = np.zeros(longest, dtype=np.int64)
    for b in range(len(labels)):
        base = members[offsets[b] : offsets[b + 1]]
        held_before(base, states, occupied)
        for state in base:
            own = strict[kinds[state]]
            if own >= 0:
                masks[b, own // 64] |= np.uint64(1) << np.uint64(own % 64)
            for k in range(max(0, t - len(pay) + 1), states[0][state]):
                sigma[b] -= pay[t - k, state - k]
        weight[b] = occupied.sum()
        for j in range(TIMES):
            byte = np.uint64(occupied[j * longest // TIMES] // unit)
            signs[b, j // BYTES] |= byte << np.uint64(8 * (j % BYTES))
    return sigma, weight, signs, masks


@compile_part(inline="always")
def not_below(own, other):
    """Return whether no byte of one signature is below the other's, and no strict kind new.

    Rows are two signatures and the first of the strict kinds.
    """
    return (
        ((own[0] | HIGH) - other[0]) & HIGH == HIGH
        and ((own[1] | HIGH) - other[1]) & HIGH == HIGH
        and other[2] & ~own[2] == 0
    )


@compile_part()
def dominates(one, other, first, second):
    """Return whether one base holds no more tokens at any time than another, and no new kind."""
    for k in range(len(one)):
        if one[k] > other[k]:
            return False
    new = np.uint64(0)
    for k in range(len(first)):
        new |= first[k] & ~second[k]
    return new == 0


@compile_part()
def sort_by(points, order, first, end, byte, free):
    """Sort order[first:end] by a byte of the signatures of these points."""
    row, shift = byte // BYTES, np.uint64(8 * (byte % BYTES))
    number = np.zeros(257, dtype=np.int64)
    for i in range(first, end):
        number[1 + np.int64((points[order[i], row] >> shift) & np.uint64(255))] += 1
    number = np.cumsum(number)
    for i in range(first, end):
        value = np.int64((points[order[i], row] >> shift) & np.uint64(255))
        free[number[value]] = order[i]
        number[value] += 1
    order[first:end] = free[: end - first]


@compile_part()
def widest_byte(points, order, first, end):
    """Return the byte in which these points differ most."""
    best, widest = 0, -1
    for byte in range(TIMES):
        row, shift = byte // BYTES, np.uint64(8 * (byte % BYTES))
        low, high = 255, 0
        for i in range(first, end):
            value = np.int64((points[order[i], row] >> shift) & np.uint64(255))
            if value < low:
                low = int(value)
            if value > high:
                high = int(value)
        if high - low > widest:
            best, widest = byte, high - low
    return best


@compile_part()
def corner(rows, first, end, out):
    """Fill the least of each byte, and the strict kinds of all rows."""
    out[:] = rows[first]
    for i in range(first + 1, end):
        for row in range(2):
            least = np.uint64(0)
            for j in range(BYTES):
                byte = np.uint64(255) << np.uint64(8 * j)
                least |= min(out[row] & byte, rows[i, row] & byte)
            out[row] = least
        out[2] &= rows[i, 2]


@compile_part()
def grow_tree(points, first, end, order, leaves, nodes):
    """Make a tree of the points first..end − 1, their number a power of two times LEAF.

    ``leaves`` gets the points in its order, ``nodes`` the corners of root, children, ...
    """
    free = np.empty(end - first, dtype=np.int64)
    size = end - first
    while size > LEAF:
        for low in range(first, end, size):
            byte = widest_byte(points, order, low, low + size)
            sort_by(points, order, low, low + size, byte, free)
        size //= 2
    for i in range(first, end):
        leaves[i] = points[order[i]]
    number = (end - first) // LEAF
    own = nodes[first * 2 // LEAF :]
    for leaf in range(number):
        corner(leaves, first + leaf * LEAF, first + (leaf + 1) * LEAF, own[number - 1 + leaf])
    for node in range(number - 2, -1, -1):
        corner(own, 2 * node + 1, 2 * node + 3, own[node])


@compile_part()
def in_tree(own, held, mask, first, end, tree, kept):
    """Return a kept base among first..end − 1 that dominates, or −1, and the steps."""
    order, leaves, nodes = tree
    occupied, masks = kept
    number = (end - first) // LEAF
    corners = nodes[first * 2 // LEAF :]
    waiting = np.empty(64, dtype=np.int64)
    waiting[0], top, steps = 0, 1, 0
    while top:
        top -= 1
        node = waiting[top]
        steps += 2
        if not not_below(own, corners[node]):
            continue
        if node < number - 1:
            waiting[top], waiting[top + 1] = 2 * node + 2, 2 * node + 1
            top += 2
            continue
        low = first + (node - number + 1) * LEAF
        steps += LEAF
        for i in range(low, low + LEAF):
            if not_below(own, leaves[i]):
                steps += 16
                if dominates(occupied[order[i]], held, masks[order[i]], mask):
                    return order[i], steps
    return -1, steps


@compile_part()
def dominator(own, held, mask, count, points, tree, kept, hot):
    """Return a kept base that dominates, the likely ones first, or −1, and the steps."""
    occupied, masks = kept
    for k in range(len(hot)):
        each = hot[k]
        if each < 0 or not not_below(own, points[each]):
            continue
        if dominates(occupied[each], held, masks[each], mask):
            hot[1 : k + 1] = hot[:k].copy()
            hot[0] = each
            return each, 16 * len(hot)
    steps, first, found = 16 * len(hot), 0, np.int64(-1)
    size = FEW
    while 2 * size <= count:
        size *= 2
    while size >= FEW and found < 0:
        if first + size <= count:
            found, more = in_tree(own, held, mask, first, first + size, tree, kept)
            steps += more
            first += size
        size //= 2
    each = count - 1
    while each >= first and found < 0:
        steps += 1
        if not_below(own, points[each]):
            steps += 16
            if dominates(occupied[each], held, masks[each], mask):
                found = each
        each -= 1
    if found >= 0:
        hot[1:] = hot[:-1].copy()
        hot[0] = found
    return found, steps


@compile_part()
def larger(array, used):
    """Return an array with at least one more row than is used."""
    if used < len(array):
        return array
    return np.concatenate((array, np.empty_like(array)))


@compile_kernel()
def undominated(level, states, order, signs, masks, longest, most, most_held):
    """Return the bases that no kept one dominates, in order of σ, the steps, and numbers held.

    Where it gives up it returns more of either than allowed.
    """
    members, offsets, _ = level
    which, points = np.empty(FEW, np.int64), np.empty((FEW, 3), np.uint64)
    occupied, kinds = np.empty((FEW, longest), np.int32), np.empty((FEW, masks.shape[1]), np.uint64)
    places, leaves = np.empty(FEW, np.int64), np.empty((FEW, 3), np.uint64)
    nodes = np.empty((FEW * 2 // LEAF, 3), np.uint64)
    held, own = np.zeros(longest, np.int32), np.empty(3, np.uint64)
    hot = np.full(HOT, -1, dtype=np.int64)
    count = steps = 0
    for b in order:
        base = members[offsets[b] : offsets[b + 1]]
        held_before(base, states, held)
        own[0], own[1], own[2] = signs[b, 0], signs[b, 1], masks[b, 0]
        tree, kept = (places, leaves, nodes), (occupied, kinds)
        found, more = dominator(own, held, masks[b], count, points, tree, kept, hot)
        steps += more
        if found >= 0:
            continue
        # Places of a kept base are doubled; occupied has half of 64 bits.
        taken = (count + 1) * (longest + 2 * masks.shape[1] + 24)
        if steps > most or taken > most_held:
            return which[:0], steps, taken
        which, points, kinds = larger(which, count), larger(points, count), larger(kinds, count)
        occupied, places = larger(occupied, count), larger(places, count)
        leaves = larger(leaves, count)
        nodes = larger(nodes, (count + 1) * 2 // LEAF)
        which[count], points[count], occupied[count], kinds[count] = b, own, held, masks[b]
        places[count] = count
        count += 1
        if count % FEW == 0:
            first = count - (count // FEW & -(count // FEW)) * FEW
            steps += 40 * (count - first)
            grow_tree(points, first, count, places, leaves, nodes)
    return which[:count], steps, np.int64(0)
