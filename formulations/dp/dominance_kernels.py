"""Compiled inner loops of ``dominance``: bases of a level that others dominate.

A base is a vector of lanes, several to a number of 64 bits: tokens at each earlier time.
A lane's highest bit is never set, so one subtraction compares all lanes of a number: of
(b | high) − a a lane keeps its highest bit if and only if a ≤ b there, and nothing is borrowed.
"""

import numpy as np

from formulations.lagrangian.compiled_array_functions import in_order
from support.kernel_cache import compile_filling_part, compile_kernel, compile_part

#: Numbers compared before the first branch.
_GROUP = 64
#: Points of a leaf, at most twice as many; points that choose the widest lane.
_LEAF, _SAMPLE = 8, 32
#: Dominators that are tried first.
_HOT = 8


@compile_kernel(_nrt=False)
def measure(level, low, high, owed, profiles, totals, own, sums, vectors):
    """Fill slack less what is still paid, the sum of the tokens, and the lanes of some bases."""
    members, number, slack = level
    words = profiles.shape[1]
    for x in range(low, high):
        rest, held = slack[x], np.int64(0)
        for w in range(words):
            vectors[x, w] = 0
        for y in range(number[x]):
            state = members[x, y]
            rest -= owed[state]
            held += totals[state]
            for w in range(words):
                vectors[x, w] += profiles[state, w]
        own[x], sums[x] = rest, held


@compile_filling_part()
def below(a, i, b, j, high):
    """Return whether all lanes of row i are at most row j's."""
    for w in range(a.shape[1]):  # noqa: SIM110, which numba compiles slowly
        if ((b[j, w] | high) - a[i, w]) & high != high:
            return False
    return True


@compile_filling_part()
def _recent(vectors, x, points, signs, first, made, high):
    """Return one of the points first..made − 1 that is below a base, or −1."""
    mine = vectors[x, 0] | high
    for begin in range(first, made, _GROUP):
        end = min(begin + _GROUP, made)
        some = False
        for z in range(begin, end):
            some |= (mine - signs[z]) & high == high
        if some:
            for z in range(begin, end):
                if (mine - signs[z]) & high == high and below(points, z, vectors, x, high):
                    return z
    return -1


@compile_filling_part()
def _in_tree(vectors, x, points, corners, tree, high):
    """Return a point of a tree that is below a base, or −1.

    Node k has the children 2k and 2k + 1; the corner of a node is below all of its points.
    """
    start, length, depth = tree[0], tree[1], tree[2]
    offset, leaves, node = start // 2, 1 << depth, 1
    while node > 0:
        if below(corners, offset + node, vectors, x, high):
            if node < leaves:
                node *= 2
                continue
            leaf = node - leaves
            first, last = (length * leaf) >> depth, (length * (leaf + 1)) >> depth
            for z in range(start + first, start + last):
                if below(points, z, vectors, x, high):
                    return z
        while node & 1:
            node >>= 1
        if node > 0:
            node += 1
    return -1


@compile_kernel()
def against_older(vectors, low, high_end, dropped, points, signs, corners, trees, recent, high):
    """Mark the bases low..high_end − 1 that a point kept before them dominates.

    ``trees`` has a start, a length and a depth for each tree, ``recent`` the first and last point
    outside of trees.
    """
    hot, known = np.zeros(_HOT, np.int64), 0
    for x in range(low, high_end):
        found = -1
        for k in range(known):
            if below(points, hot[k], vectors, x, high):
                found = hot[k]
                hot[k], hot[0] = hot[0], found
                break
        if found >= 0:
            dropped[x] = True
            continue
        found = _recent(vectors, x, points, signs, recent[0], recent[1], high)
        for k in range(len(trees)):
            if found >= 0:
                break
            found = _in_tree(vectors, x, points, corners, trees[k], high)
        if found >= 0:
            dropped[x] = True
            if known < _HOT:
                known += 1
            hot[known - 1] = found


@compile_kernel(_nrt=False)
def among(vectors, low, high_end, dropped, points, signs, made, high):
    """Keep those of the bases that none kept in the same call dominates; return the points made."""
    first = made
    for x in range(low, high_end):
        if dropped[x]:
            continue
        if _recent(vectors, x, points, signs, first, made, high) >= 0:
            dropped[x] = True
            continue
        for w in range(vectors.shape[1]):
            points[made, w] = vectors[x, w]
        signs[made] = vectors[x, 0]
        made += 1
    return made


@compile_part()
def _widest(points, order, low, high_end, bits):
    """Return the lane in which a sample of points differs most."""
    lanes, mask = 64 // bits, (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    number = min(_SAMPLE, high_end - low)
    best, widest = np.int64(-1), 0
    for w in range(points.shape[1]):
        for lane in range(lanes):
            total, squares = np.int64(0), np.int64(0)
            for k in range(number):
                row = order[low + (high_end - low) * k // number]
                value = np.int64((points[row, w] >> np.uint64(bits * lane)) & mask)
                total += value
                squares += value * value
            spread = squares * number - total * total
            if spread > best:
                best, widest = spread, w * lanes + lane
    return widest


@compile_part()
def _halve(points, order, low, middle, high_end, lane, bits):
    """Order some points so that none before the middle exceeds any after it in a lane."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    word, shift = lane // (64 // bits), np.uint64(bits * (lane % (64 // bits)))
    last = high_end - 1
    while low < last:
        pivot = (points[order[(low + last) // 2], word] >> shift) & mask
        i, j = low, last
        while i <= j:
            while ((points[order[i], word] >> shift) & mask) < pivot:
                i += 1
            while ((points[order[j], word] >> shift) & mask) > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            low = i
        else:
            return


@compile_kernel()
def grow_tree(points, corners, start, length, bits, high):
    """Order some points as the leaves of a tree, and fill the least corner of each node.

    Returns its depth, and the points' former rows.
    """
    depth = 0
    while length >> (depth + 1) >= _LEAF:
        depth += 1
    order = in_order(length)
    for k in range(length):
        order[k] += start
    for level in range(depth):
        for k in range(1 << level):
            low, end = (length * k) >> level, (length * (k + 1)) >> level
            middle = (length * (2 * k + 1)) >> (level + 1)
            lane = _widest(points, order, low, end, bits)
            _halve(points, order, low, middle, end, lane, bits)
    words, shift, leaves, offset = points.shape[1], np.uint64(bits - 1), 1 << depth, start // 2
    moved = np.empty((length, words), np.uint64)
    for k in range(length):
        for w in range(words):
            moved[k, w] = points[order[k], w]
    for k in range(length):
        for w in range(words):
            points[start + k, w] = moved[k, w]
    for leaf in range(leaves):
        first = start + ((length * leaf) >> depth)
        for w in range(words):
            least = points[first, w]
            for z in range(first + 1, start + ((length * (leaf + 1)) >> depth)):
                least = _least(least, points[z, w], high, shift)
            corners[offset + leaves + leaf, w] = least
    for node in range(leaves - 1, 0, -1):
        for w in range(words):
            corners[offset + node, w] = _least(
                corners[offset + 2 * node, w], corners[offset + 2 * node + 1, w], high, shift
            )
    return depth, order


@compile_filling_part()
def _least(a, b, high, shift):
    """Return the smaller of two numbers lane by lane."""
    above = ((a | high) - b) & high
    mask = above - (above >> shift)
    return (b & mask) | (a & ~mask)
