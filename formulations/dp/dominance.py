"""Dominance between the bases of a level, by vectors of tokens.

Proof: docs/proofs/dominance.md (P5), without strict kinds.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.dp.priced_network import Ints, WindowRules

#: Bits of a lane, and the most it holds.
LANES = ((8, 127), (16, 32_767))
#: Earlier times that come first in a comparison: most pairs differ in them.
FIRST_TIMES = (0, 2, 4, 7, 11, 16, 22, 30)
#: Bases that threads compare with all older ones at once, and kept bases that become a tree.
BLOCK, TREE_FROM = 1_024, 1_024
#: Bases from which two threads compare them; from which lanes get a better order, by so many pairs.
PARTED_FROM, ORDERED_FROM, PAIRS = 512, 4_096, 1_000

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Dominance:
    """Arrays that compare bases, of a request in each state.

    ``owed`` is its payment at a time and before, shape (times, states), ``profiles`` its lanes of
    so many ``bits``, shape (states, words), ``totals`` the sum of its tokens so far.
    """

    owed: Ints
    profiles: Words
    totals: Ints
    bits: int

    @property
    def high(self) -> np.uint64:
        """The highest bit of each lane."""
        return highest(self.bits)

    def measured(
        self, t: int, level: tuple[Any, Any, Ints], pool: ThreadPoolExecutor | None = None
    ) -> tuple[Ints, Ints, Words]:
        """Return label less debt, tokens held in all, and lanes of each base at t."""
        from formulations.dp import dominance_kernels as kernels  # loads the compiler

        size, words = len(level[1]), self.profiles.shape[1]
        own, sums = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        vectors = np.empty((size, words), dtype=np.uint64)
        owed = self.owed[min(t, len(self.owed) - 1)]

        def fill(low: int, end: int) -> None:
            kernels.measure(level, low, end, owed, self.profiles, self.totals, own, sums, vectors)

        in_parts(fill, 0, size, pool)
        return own, sums, vectors


def dominance(rules: WindowRules) -> Dominance | None:
    """Return the arrays that compare bases; None where the memory is too large for lanes."""
    longest = int(rules.outputs.max())
    bits = next((bits for bits, most in LANES if rules.memory <= most), None)
    if bits is None:
        return None
    times = [e for e in FIRST_TIMES if e < longest]
    times += [e for e in range(longest) if e not in times]
    lanes = np.zeros((len(rules.tokens), longest), dtype=np.uint64)
    ages = np.arange(len(rules.tokens)) - rules.first[rules.kind] + 1
    for lane, e in enumerate(times):
        held = np.flatnonzero(ages > e)
        lanes[held, lane] = rules.tokens[held - e]
    totals = lanes.sum(axis=1).astype(np.int64)
    return Dominance(_owed(rules, ages), _packed(lanes, bits), totals, bits)


def _owed(rules: WindowRules, ages: Ints) -> Ints:
    """Return the debt at every time; the last row, 0, is for all later ones."""
    priced = len(rules.pay)
    owed = np.zeros((priced + int(rules.outputs.max()), len(ages)), dtype=np.int64)
    later = np.flatnonzero(ages > 1)
    for t in range(1, len(owed)):
        owed[t] = rules.pay[min(t, priced - 1)]
        owed[t, later] += owed[t - 1, later - 1]
    return owed


def _packed(lanes: Words, bits: int) -> Words:
    """Return lanes in numbers of 64 bits, the first in the lowest bits."""
    each = 64 // bits
    words = -(-lanes.shape[1] // each)
    wide = np.zeros((len(lanes), words * each), dtype=np.uint64)
    wide[:, : lanes.shape[1]] = lanes
    shifts = np.arange(0, 64, bits, dtype=np.uint64)
    packed: Words = np.bitwise_or.reduce(wide.reshape(len(lanes), words, each) << shifts, axis=2)
    return packed


def undominated(
    t: int, level: tuple[Any, Any, Ints], rule: Dominance, pool: ThreadPoolExecutor | None
) -> Ints:
    """Return the places of the bases at t that no other one dominates, in increasing order."""
    own, sums, vectors = rule.measured(t, level, pool)
    order = sorted_places(own, sums)
    return np.sort(order[~dropped(vectors[order], rule.bits, pool)])


def sorted_places(own: Ints, sums: Ints) -> Ints:
    """Return places in the order of ``own``, then of ``sums``, then of the places themselves."""
    if not len(own):
        return np.zeros(0, dtype=np.int64)
    low, places = int(own.min()), len(own).bit_length()
    shift = places + int(sums.max()).bit_length()
    if (int(own.max()) - low).bit_length() + shift > 63:
        return np.lexsort((sums, own))
    # Sorting one number each takes a quarter of the time.
    keys: Ints = ((own - low) << shift) | (sums << places) | np.arange(len(own))
    keys.sort()
    return keys & ((1 << places) - 1)


def highest(bits: int) -> np.uint64:
    """Return a number with the highest bit of each lane."""
    return np.uint64(sum(1 << (k + bits - 1) for k in range(0, 64, bits)))


def dropped(
    vectors: Words,
    bits: int,
    pool: ThreadPoolExecutor | None,
    out_of_time: Callable[[], bool] = lambda: False,
) -> NDArray[np.bool_]:
    """Return which rows have an earlier row below them in all lanes; the first ones, in time."""
    from formulations.dp import dominance_kernels as kernels  # loads the compiler

    size, high = len(vectors), highest(bits)
    if size >= ORDERED_FROM:
        vectors = _in_order(vectors, bits)
    found = np.zeros(size, dtype=np.bool_)
    points, signs = np.empty_like(vectors), np.empty(size, dtype=np.uint64)
    corners = np.empty((size // 2 + 2, vectors.shape[1]), dtype=np.uint64)
    # Start, length and depth of each.
    trees: list[tuple[int, int, int]] = []
    first = made = 0
    for low in range(0, size, BLOCK):
        if out_of_time():
            break
        end = min(low + BLOCK, size)
        known = np.array(trees, dtype=np.int64).reshape(-1, 3)
        recent = np.array((first, made))

        def compared(low: int, end: int, known: Ints = known, recent: Ints = recent) -> None:
            kernels.against_older(
                vectors, low, end, found, points, signs, corners, known, recent, high
            )

        if made:
            in_parts(compared, low, end, pool)
        made = kernels.among(vectors, low, end, found, points, signs, made, high)
        if made - first >= TREE_FROM and end < size:
            # Trees of about equal sizes become one, so there are few, and points move few times.
            start = first
            while trees and trees[-1][1] <= made - start:
                start = trees.pop()[0]
            depth, _ = kernels.grow_tree(points, corners, start, made - start, bits, high)
            trees.append((start, made - start, depth))
            first = made
    return found


def _in_order(vectors: Words, bits: int) -> Words:
    """Return rows with lanes in the order of the pairs of rows that they tell apart."""
    lanes = vectors.view(f"u{bits // 8}")
    one, other = np.sort(np.random.default_rng(0).integers(0, len(lanes), (2, PAIRS)), axis=0)
    above = lanes[one] > lanes[other]
    first: list[int] = []
    while above.any():
        first.append(int(above.sum(axis=0).argmax()))
        above = above[~above[:, first[-1]]]
    order = [*first, *(lane for lane in range(lanes.shape[1]) if lane not in first)]
    ordered: Words = np.ascontiguousarray(lanes[:, order]).view(np.uint64)
    return ordered


def in_parts(
    run: Callable[[int, int], None], low: int, end: int, pool: ThreadPoolExecutor | None
) -> None:
    """Run two halves at once, where there are threads and enough to do."""
    if pool is None or end - low < PARTED_FROM:
        run(low, end)
        return
    middle = (low + end) // 2
    other = pool.submit(run, middle, end)
    run(low, middle)
    other.result()


def compile_kernels() -> None:
    """Compile the comparisons, by rows of which none is below another."""
    a, b = (each.ravel() for each in np.indices((127, 127), dtype=np.uint64))
    lanes = np.stack((a, 127 - a, b, 127 - b), axis=1)[: TREE_FROM + 2 * BLOCK]
    assert not dropped(_packed(lanes, 8), 8, None).any()
