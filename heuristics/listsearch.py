"""Local search on priority lists, compiled: only the part of a schedule after a change is redone.

This is for requests that all arrive at round 0; ``search_with_arrivals`` is for others.  The common
admission then takes requests strictly in list order, so what happens before the first changed
position depends on the positions before it only.  Snapshots of the worker every few positions let
a changed list be evaluated from the last one before the change, and the evaluation stops as soon as
its total must exceed the threshold.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from heuristics.compiled import compiled_admission

first_feasible = compiled_admission().first_feasible
run_in_order = compiled_admission().run_in_order

#: Positions between two snapshots.
EVERY = 16
#: Later than every round that can occur.
_NEVER = 1 << 61


@njit(cache=True)
def next_random(state):
    """Return a random 64-bit word (splitmix64) and advance the state, an array of shape (1,)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True)
def below(state, n):
    """Return a random integer from 0..n−1."""
    return np.int64((next_random(state) >> np.uint64(11)) % np.uint64(n))


@njit(cache=True)
def evaluate(order, prompts, outputs, memory, first, threshold, snapshots, keep):
    """Return Σ starts of a list, or a number above ``threshold`` once the sum must exceed it.

    Parameters
    ----------
    first : int
        Positions before it are as they were when the snapshots were taken.
    snapshots : tuple of arrays
        Round, Σ starts, number of active requests, and their ends and bases, per snapshot.
    keep : bool
        Whether to write the snapshots after ``first`` anew.
    """
    rounds, sums, actives, snap_ends, snap_bases = snapshots
    n = len(order)
    shot = first // EVERY
    pointer = shot * EVERY
    now, total = rounds[shot], sums[shot]
    width = snap_ends.shape[1]
    ends = np.empty(2 * width, np.int64)
    bases = np.empty(2 * width, np.int64)
    low, high = 0, actives[shot]
    base_total = 0
    for k in range(high):
        ends[k] = snap_ends[shot, k]
        bases[k] = snap_bases[shot, k]
        base_total += bases[k]
    held_next = base_total + high * (now + 1)
    while pointer < n:
        if keep and pointer % EVERY == 0:
            shot = pointer // EVERY
            rounds[shot], sums[shot], actives[shot] = now, total, high - low
            for k in range(low, high):
                snap_ends[shot, k - low] = ends[k]
                snap_bases[shot, k - low] = bases[k]
        # Every start still to come is at ``now`` or later.
        if total + (n - pointer) * now > threshold:
            return threshold + 1
        request = order[pointer]
        prompt, output = prompts[request], outputs[request]
        while True:
            while low < high and ends[low] <= now:
                base_total -= bases[low]
                low += 1
            limit = ends[low] if low < high else _NEVER
            begin = limit
            held_next = base_total + (high - low) * (now + 1)
            if held_next + prompt + 1 <= memory:
                begin = first_feasible(
                    ends, bases, low, high, base_total, prompt, output, memory, now, limit
                )
            now = begin
            if begin < limit:
                break
        total += now
        pointer += 1
        if high == 2 * width:
            for k in range(low, high):
                ends[k - low] = ends[k]
                bases[k - low] = bases[k]
            high -= low
            low = 0
        end, base = now + output, prompt - now
        position = high
        while position > low and ends[position - 1] > end:
            ends[position] = ends[position - 1]
            bases[position] = bases[position - 1]
            position -= 1
        ends[position] = end
        bases[position] = base
        high += 1
        base_total += base
    return total


@njit(cache=True, nogil=True)
def search(order, prompts, outputs, memory, total, moves, reach, state, snapshots):
    """Try moves on a list in place, keep those that are no worse; return the new Σ starts.

    A move takes one request to another place or exchanges two, at most ``reach`` places apart.

    Parameters
    ----------
    order : array of int, shape (n,)
        Requests in list order.
    total : int
        Its Σ starts (rounds); the snapshots are those of the list.
    state : array of one unsigned 64-bit integer
        The random stream.
    """
    n = len(order)
    for _ in range(moves):
        a = below(state, n)
        b = a + below(state, 2 * reach + 1) - reach
        if b < 0 or b >= n or a == b:
            continue
        swap = below(state, 2) == 0
        first = min(a, b)
        _apply(order, a, b, swap)
        trial = evaluate(order, prompts, outputs, memory, first, total, snapshots, False)
        if trial > total:
            _apply(order, b, a, swap)
            continue
        total = trial
        evaluate(order, prompts, outputs, memory, first, _NEVER, snapshots, True)
    return total


@njit(cache=True, nogil=True)
def search_with_arrivals(columns, order, total, memory, moves, reach, state, work):
    """As ``search`` for requests that arrive over time; every list is evaluated from the start.

    Parameters
    ----------
    columns : tuple of arrays of int, shape (n,)
        Arrivals, prompts, outputs, and requests by arrival.
    work : tuple of five arrays of int, shape (n,)
        Scratch space: ranks, ends, bases, ids, starts.
    """
    n = len(order)
    for _ in range(moves):
        a = below(state, n)
        b = a + below(state, 2 * reach + 1) - reach
        if b < 0 or b >= n or a == b:
            continue
        swap = below(state, 2) == 0
        _apply(order, a, b, swap)
        trial = total_with_arrivals(columns, order, memory, work)
        if trial > total:
            _apply(order, b, a, swap)
        else:
            total = trial
    return total


@njit(cache=True)
def total_with_arrivals(columns, order, memory, work):
    """Return Σ starts of a list under the common admission."""
    arrivals, prompts, outputs, by_arrival = columns
    ranks, ends, bases, ids, starts = work
    for place in range(len(order)):
        ranks[order[place]] = place
    run_in_order(
        arrivals,
        prompts,
        outputs,
        outputs,
        order,
        ranks,
        by_arrival,
        memory,
        False,
        ends,
        bases,
        ids,
        starts,
    )
    return starts.sum()


@njit(cache=True)
def _apply(order, a, b, swap):
    """Exchange the requests at two places, or move the one at ``a`` to ``b``."""
    moved = order[a]
    if swap:
        order[a] = order[b]
        order[b] = moved
        return
    step = 1 if b > a else -1
    position = a
    while position != b:
        order[position] = order[position + step]
        position += step
    order[b] = moved
