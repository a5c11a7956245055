"""Kernels of the annealing over lists with delays: decoding, moves, and the walk itself.

Source: ours.  The temperature as in Kirkpatrick, Gelatt and Vecchi 1983.

A list holds every request once, and a request has a delay d ≥ 0 (rounds).  Its schedule: requests
are taken strictly in list order; each starts at the first round t, no earlier than the one before
and its arrival, at which it fits next to those taken before, or with d > 0 at the first such round
from t + d on.

The worker is known by the ends of the active requests, sorted, and the tokens held at each: no
array over time, so large tokens and late rounds cost nothing.  Where many requests run at once, the
tokens held by time are faster, in 32 bits, since neither those nor a peak exceeds 10⁹.  Both give
the same starts.

A changed list is decoded from the first changed place on, until its total must exceed the threshold
of the acceptance, which is drawn before, or the worker is as it was but for a shift.

Proof: docs/proofs/annealing.md (P13).
"""

from math import log
from typing import Any, NamedTuple

import numpy as np

from heuristics.gap_filling import fill, misfit
from heuristics.kernel_compiler import filling_kernel

#: An array of 64-bit integers.
Ints = Any

#: Moves: the requests of two places, one request or a few in a row elsewhere, or a delay.
EXCHANGE, INSERT, DELAY = 0, 1, 2
#: Places that a move goes at most: a quarter of the list, but no less and no more than these;
#: except for one move in so many, which goes anywhere.
NEAR, FAR = (6, 25), 16
#: Ranks by size that two requests differ by at most which are exchanged wherever they are.
CLOSE = 4
#: Below every sum of tokens and rounds.
NOTHING = -(1 << 62)
#: Requests in a row that move together, at most.
BLOCK = 5
#: Changes are decoded by tokens if so many requests start within so many rounds.
DENSE_STARTS, DENSE_ROUNDS = 16, 128


class ScheduledList(NamedTuple):
    """A list and its schedule."""

    #: Positions of the requests in list order, shape (n,).
    order: Ints
    #: Rounds, by position of the request in the instance, shape (n,).
    delays: Ints
    #: Rounds, by place in the list, shape (n,).
    starts: Ints
    #: Sum of the starts and latest completion of the places before one, shape (n + 1,).
    sums: Ints
    latest: Ints
    #: Latest arrival of the places from one on, shape (n + 1,).
    waits: Ints


class DecodedList(NamedTuple):
    """Arrays that a decoding fills."""

    #: Rounds, by place in the list, shape (n,).
    starts: Ints
    #: Of the active requests, sorted, and the tokens held at each; shape (twice as many as can be
    #: active at once,).
    ends: Ints
    held: Ints
    #: Tokens held by time, 32-bit integers of shape (rounds,), or none: then ``ends`` are used.
    tokens: Ints


class RequestsBySize(NamedTuple):
    """The requests by size, once by output and then prompt, once by prompt and then output."""

    #: Positions of the requests in these orders, shape (2, n).
    requests: Ints
    #: Of each request in them, by position in the instance, shape (2, n).
    ranks: Ints


class MoveRules(NamedTuple):
    """Rules for changing lists and giving them up."""

    #: The shares of the moves that change a delay, and that exchange requests of similar size.
    delayed: float
    similar: float
    #: The share of the moves whose place is drawn by time; the others' by number.
    by_time: float
    #: Places after the last change up to which a list may have fallen behind.
    wide: int
    #: The requests by size.
    sizes: RequestsBySize


class RequestColumns(NamedTuple):
    """Arrivals (rounds), prompts and outputs (tokens) of the requests, each of shape (n,)."""

    arrivals: Ints
    prompts: Ints
    outputs: Ints


@filling_kernel
def next_random(state):
    """Return a random 64-bit word (splitmix64) and advance the state, an array of shape (1,)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@filling_kernel
def below(state, n):
    """Return a random integer from 0..n−1."""
    return np.int64((next_random(state) >> np.uint64(11)) % np.uint64(n))


@filling_kernel
def uniform(state):
    """Return a random number from (0, 1]."""
    return (np.float64(next_random(state) >> np.uint64(11)) + 1.0) * 2.0**-53


@filling_kernel
def first_from(ends, low, high, end):
    """Return the first place in low..high−1 with an end no earlier than one; none: ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] < end:
            low = middle + 1
        else:
            high = middle
    return low


@filling_kernel
def first_start(ends, held, low, high, start, prompt, output, memory):
    """Return the first round from ``start`` on at which a request fits, its low, its end's place.

    The active requests are those at low..high−1.  Where an end e within the run has too much by x
    tokens, the request cannot start before start + x, or e if that is earlier.  Where only its own
    end has too much, the active ones hold more at every round until the next of them ends.
    """
    while True:
        while low < high and ends[low] <= start:
            low += 1
        if low == high:
            return start, low, low
        count = high - low
        if held[low] - count * (ends[low] - start - 1) + prompt + 1 > memory:
            start = ends[low]
            continue
        end = start + output
        place = first_from(ends, low, high, end)
        # Slices, since only what is indexed from 0 is compiled to vector instructions.
        early, then = ends[low:place], held[low:place]
        need = prompt - start - memory
        most = NOTHING
        for k in range(len(early)):
            most = max(most, early[k] + then[k])
        if most + need <= 0:
            tokens = prompt + output
            if place < high:
                tokens += held[place] - (high - place) * (ends[place] - end)
            if tokens <= memory:
                return start, low, place
            start = ends[place] + 1 - output
            continue
        later = start
        for k in range(len(early)):
            later = max(later, min(start + then[k] + early[k] + need, early[k]))
        start = later


@filling_kernel
def enter(ends, held, low, high, place, start, prompt, output):
    """Add a request that starts; return the new low and high."""
    end = start + output
    peak = prompt + output
    if place < high:
        peak += held[place] - (high - place) * (ends[place] - end)
    if high == len(ends):
        for k in range(low, high):
            ends[k - low], held[k - low] = ends[k], held[k]
        place, high, low = place - low, high - low, 0
    early, then = ends[low:place], held[low:place]
    for k in range(len(early)):
        then[k] += prompt + early[k] - start
    for k in range(high, place, -1):
        ends[k], held[k] = ends[k - 1], held[k - 1]
        if ends[k] == end:
            held[k] += prompt + output
    ends[place], held[place] = end, peak
    return low, high + 1


@filling_kernel
def resume_ends(walk, columns, first, now, trial):
    """Fill the active requests after the start ``now`` before a place; return how many."""
    order, _, starts, _, latest, _ = walk
    _, prompts, outputs = columns
    _, ends, held, _ = trial
    high, k = 0, first - 1
    while k >= 0 and latest[k + 1] > now:
        request = order[k]
        end = starts[k] + outputs[request]
        if end > now:
            # Sorted by end; what stands in ``held`` until all are there is prompt − start.
            place = high
            while place > 0 and ends[place - 1] > end:
                ends[place], held[place] = ends[place - 1], held[place - 1]
                place -= 1
            ends[place], held[place] = end, prompts[request] - starts[k]
            high += 1
        k -= 1
    bases = 0
    for k in range(high - 1, -1, -1):
        bases += held[k]
        held[k] = bases + (high - k) * ends[k]
    # Requests with one end hold their tokens at it together.
    for k in range(1, high):
        if ends[k] == ends[k - 1]:
            held[k] = held[k - 1]
    return high


@filling_kernel
def first_gap(held, clean, start, prompt, output, memory):
    """Return the first round from ``start`` on at which a request fits, and the new ``clean``.

    ``held`` are tokens by time, 0 from ``clean`` on whatever stands there.
    """
    while start + output < len(held):
        if start + output >= clean:
            held[clean : start + output + 1] = 0
            clean = start + output + 1
        later = misfit(held, start, prompt, output, memory)
        if later == 0:
            break
        start += later
    return start, clean


@filling_kernel
def resume_tokens(walk, columns, first, now, held):
    """Fill the tokens held after the start ``now`` before a place; return up to where they are."""
    order, _, starts, _, latest, _ = walk
    _, prompts, outputs = columns
    clean = max(now, latest[first]) + 1
    held[now + 1 : clean] = 0
    k = first - 1
    while k >= 0 and latest[k + 1] > now:
        request = order[k]
        end = starts[k] + outputs[request]
        if end > now:
            run = held[now + 1 : end + 1]
            tokens = prompts[request] + now - starts[k] + 1
            for j in range(len(run)):
                run[j] += np.int32(tokens + j)
        k -= 1
    return clean


@filling_kernel
def resume(walk, columns, first, now, trial):
    """Return the worker after the start ``now`` before a place: low, high, and ``clean``.

    ``clean`` is 0 where ends are kept; the starts before the change decide whether they are.
    """
    starts, tokens = walk[2], trial[3]
    begin = max(0, min(first, len(starts) - DENSE_STARTS))
    here = starts[begin : begin + DENSE_STARTS]
    if len(tokens) > 0 and here[-1] - here[0] <= DENSE_ROUNDS:
        return 0, 0, resume_tokens(walk, columns, first, now, tokens)
    return 0, resume_ends(walk, columns, first, now, trial), 0


@filling_kernel
def take(worker, trial, request, start, delay, memory):
    """Let a request (prompt, output) start where it fits, then after its delay; return both."""
    low, high, clean = worker
    _, ends, held, tokens = trial
    prompt, output = request
    place = 0
    while True:
        if clean > 0:
            start, clean = first_gap(tokens, clean, start, prompt, output, memory)
        else:
            start, low, place = first_start(ends, held, low, high, start, prompt, output, memory)
        if delay == 0:
            break
        start, delay = start + delay, 0
    if clean == 0:
        low, high = enter(ends, held, low, high, place, start, prompt, output)
    elif start + output < len(tokens):
        fill(tokens, start, prompt, output, 1)
    return (low, high, clean), start


@filling_kernel
def evaluate(walk, columns, memory, first, last, threshold, wide, trial):
    """Return Σ starts of a list changed at places first..last, or above ``threshold`` a number.

    Returned too: the place after the last one decoded, and by how many rounds the rest moves.
    The list is given up where the starts still to come, each at the last one or later, bring the
    sum above the threshold; or, which proves nothing, where more than ``wide`` places after the
    last change a request starts no earlier than before and the starts up to there are already too
    late by more than the threshold allows, or where a run ends after the tokens kept by time.
    """
    order, delays, starts, sums, latest, waits = walk
    arrivals, prompts, outputs = columns
    n = len(order)
    now = starts[first - 1] if first > 0 else 0
    worker = resume(walk, columns, first, now, trial)
    size = len(trial[3]) if worker[2] > 0 else 0
    total, until = sums[first], latest[first]
    # From one place on all starts have moved by ``shift``; what began before ends by ``over``.
    shift, over, was_over, settled = 0, 0, 0, False
    for k in range(first, n):
        request = order[k]
        prompt, output = prompts[request], outputs[request]
        start = max(now, arrivals[request])
        worker, now = take(worker, trial, (prompt, output), start, delays[request], memory)
        trial[0][k] = now
        total += now
        left, moved = n - 1 - k, now - starts[k]
        late = k > last + wide and moved >= 0 and total + sums[n] - sums[k + 1] > threshold
        if late or total + left * now > threshold or 0 < size <= now + output:
            return threshold + 1, n, 0
        if k > last:
            if not settled or moved != shift:
                settled, shift, over, was_over = True, moved, until, latest[k]
            free = shift == 0 or waits[k + 1] <= min(now, starts[k])
            if free and now >= over and starts[k] >= was_over:
                return total + sums[n] - sums[k + 1] + left * shift, k + 1, shift
        until = max(until, now + output)
    return total, n, 0


@filling_kernel
def keep(walk, columns, first, last, until, shift, trial):
    """Take over what ``evaluate`` has decoded: places first..until−1, and how the rest moves."""
    order, _, starts, sums, latest, waits = walk
    arrivals, _, outputs = columns
    n = len(order)
    before = sums[until]
    for k in range(first, until):
        starts[k] = trial[0][k]
        sums[k + 1] = sums[k] + starts[k]
        latest[k + 1] = max(latest[k], starts[k] + outputs[order[k]])
    moved = sums[until] - before
    if moved != 0 or shift != 0:
        for k in range(until, n):
            starts[k] += shift
            moved += shift
            sums[k + 1] += moved
            latest[k + 1] += shift
    if waits[0] > 0:
        for k in range(last, -1, -1):
            waits[k] = max(waits[k + 1], arrivals[order[k]])


@filling_kernel
def follow(walk, columns, memory, targets, delayed, trial):
    """Decode a list anew; return Σ starts.

    With ``delayed`` its delays are such that no request starts before its target, by place;
    without, there are none.
    """
    order, delays, starts, sums, latest, waits = walk
    arrivals, prompts, outputs = columns
    _, ends, held, _ = trial
    low = high = now = 0
    for k in range(len(order)):
        request = order[k]
        prompt, output = prompts[request], outputs[request]
        start = max(now, arrivals[request])
        start, low, place = first_start(ends, held, low, high, start, prompt, output, memory)
        delays[request] = max(0, targets[k] - start) if delayed else 0
        if delays[request] > 0:
            start = targets[k]
            start, low, place = first_start(ends, held, low, high, start, prompt, output, memory)
        low, high = enter(ends, held, low, high, place, start, prompt, output)
        now = starts[k] = start
        sums[k + 1] = sums[k] + start
        latest[k + 1] = max(latest[k], start + output)
    for k in range(len(order) - 1, -1, -1):
        waits[k] = max(waits[k + 1], arrivals[order[k]])
    return sums[len(order)]


@filling_kernel
def apply_move(order, kind, a, b, length):
    """Exchange the requests at two places, or move those from ``a`` on so that they begin at b."""
    if kind == EXCHANGE:
        order[a], order[b] = order[b], order[a]
        return
    for _ in range(length):
        if b > a:
            moved = order[a]
            for k in range(a, b + length - 1):
                order[k] = order[k + 1]
            order[b + length - 1] = moved
        else:
            moved = order[a + length - 1]
            for k in range(a + length - 1, b, -1):
                order[k] = order[k - 1]
            order[b] = moved


@filling_kernel
def similar_place(state, order, sizes, a):
    """Return the place of a request whose size is close to the size at ``a``, or ``a``."""
    by = below(state, 2)
    away = 1 + below(state, CLOSE)
    if below(state, 2) == 0:
        away = -away
    rank = sizes[1][by, order[a]] + away
    if rank < 0 or rank >= len(order):
        return a
    other, place = sizes[0][by, rank], 0
    while order[place] != other:
        place += 1
    return place


@filling_kernel
def draw_place(state, starts, by_time):
    """Return a place: any, or with probability ``by_time`` the first start from a random round."""
    n = len(starts)
    if by_time == 0 or uniform(state) > by_time:
        return below(state, n)
    passed = starts[0] + 1 + below(state, max(1, starts[n - 1] - starts[0]))
    return min(first_from(starts, 0, n, passed), n - 1)


@filling_kernel
def draw_move(state, order, starts, rules):
    """Return kind, two places and a length; both places are one where there is no move.

    Near places are cheap to evaluate and kept more often; requests of similar size keep a packing.
    """
    delayed, similar, by_time, _, sizes = rules
    n = len(order)
    a = draw_place(state, starts, by_time)
    share = uniform(state)
    if share <= delayed:
        return DELAY, a, a, 1
    if share <= delayed + similar:
        return EXCHANGE, a, similar_place(state, order, sizes, a), 1
    reach = n - 1
    if below(state, FAR) > 0:
        reach = min(reach, max(NEAR[0], min(NEAR[1], n // 4)))
    far = 1 + below(state, 1 + below(state, reach))
    kind, length = EXCHANGE, 1
    if below(state, 2) == 0:
        kind = INSERT
        if below(state, 2) == 0:
            length = 2 + below(state, BLOCK - 1)
    back, ahead = a - far >= 0, a + far + length <= n
    if (not back and not ahead) or a + length > n:
        return EXCHANGE, a, a, 1
    if back and ahead:
        back = below(state, 2) == 0
    return kind, a, a - far if back else a + far, length


@filling_kernel
def save(walk, best):
    """Copy list, delays and starts."""
    for k in range(len(walk[0])):
        best[0][k] = walk[0][k]
        best[1][k] = walk[1][k]
        best[2][k] = walk[2][k]


@filling_kernel
def make_move(walk, columns, move, state):
    """Change the list or a delay; return the delay as it was, −1 where there is nothing to try."""
    order, delays = walk[0], walk[1]
    kind, a, b, length = move
    request, other = order[a], order[b]
    delay = delays[request]
    if kind == DELAY:
        if delay == 0 or uniform(state) >= 0.7:
            delays[request] += 1 + below(state, 3)
        else:
            delays[request] = 0 if below(state, 2) == 0 else delay - 1
        return delay
    alike = kind == EXCHANGE and delay == delays[other]
    for column in columns:
        alike = alike and column[request] == column[other]
    if a == b or alike:
        return -1
    apply_move(order, kind, a, b, length)
    return delay


@filling_kernel
def undo_move(walk, move, delay):
    """Change the list back; return the delay that the request had with the move."""
    kind, a, b, length = move
    if kind != DELAY:
        apply_move(walk[0], kind, b, a, length)
        return 0
    request = walk[0][a]
    new = walk[1][request]
    walk[1][request] = delay
    return new


@filling_kernel
def save_before(walk, best, move, delay):
    """Save the list as it was before a move, which stays made."""
    kind, a, b, length = move
    new = undo_move(walk, move, delay)
    save(walk, best)
    if kind == DELAY:
        walk[1][walk[0][a]] = new
    else:
        apply_move(walk[0], kind, a, b, length)


@filling_kernel
def anneal(walk, columns, memory, best, totals, state, moves, temperature, rules, trial):
    """Draw so many moves; a list worse by ``temperature`` rounds is kept in one of e cases.

    ``best`` (order, delays, starts) and ``totals`` (Σ starts of the list and of the best, moves
    tried and kept) are changed in place.
    """
    wide = rules[3]
    current, found = totals[0], totals[1]
    unsaved = False
    for _ in range(moves):
        move = draw_move(state, walk[0], walk[2], rules)
        delay = make_move(walk, columns, move, state)
        if delay < 0:
            continue
        _, a, b, length = move
        first, last = min(a, b), max(a, b) + length - 1
        threshold = current + np.int64(-temperature * log(uniform(state)))
        totals[2] += 1
        total, until, shift = evaluate(walk, columns, memory, first, last, threshold, wide, trial)
        if total > threshold:
            undo_move(walk, move, delay)
            continue
        if total > current and unsaved:
            # The walk leaves the best list, which has not been copied at each step down.
            save_before(walk, best, move, delay)
            unsaved = False
        totals[3] += 1
        keep(walk, columns, first, last, until, shift, trial)
        current = total
        if current < found:
            found, unsaved = current, True
    if unsaved:
        save(walk, best)
    totals[0], totals[1] = current, found
