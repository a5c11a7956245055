"""Look-ahead admission: when may a request start so that memory is never exceeded later.

The kernels use plain loops over indexable sequences only, so that the same source runs interpreted
on lists and compiled on arrays.  (``heuristics.believed`` is the look-ahead of those who decide
round by round.)
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from heuristics import compiled
from heuristics.compiled import kernel
from heuristics.policy import Ints

#: A sequence of integers of shape (n,): a list, or an array of 64-bit integers.
Column = Any


class Requests(NamedTuple):
    """Requests that can start."""

    #: Rounds.
    arrivals: Column
    #: Tokens; an output is believed to be no less than it is.
    prompts: Column
    beliefs: Column
    outputs: Column


class Line(NamedTuple):
    """Requests by rank, the rank of each, and requests by arrival."""

    by_rank: Column
    ranks: Column
    by_arrival: Column


class Active(NamedTuple):
    """The active requests, at places low..high−1, sorted by ``ends``."""

    #: Round in which each is believed to complete.
    ends: Column
    #: Prompt − start, so that the tokens held at round t are base + t.
    bases: Column
    #: Position in the instance.
    ids: Column


#: Later than every round that can occur: arrivals and outputs are bounded in ``instances.model``.
NEVER = 1 << 61


@kernel
def first_feasible(active, low, high, total, prompt, length, memory, now, limit):
    """Return the first round in [now, limit) at which a request fits, or ``limit``.

    The active requests are those at low..high−1, whose bases sum to ``total``; they are taken to
    run until ``ends``, and none is taken to join.  ``length`` is the output (tokens) that the
    policy believes.

    Proof: docs/proofs/look_ahead.md (P12).
    """
    ends, bases, _ = active
    start = now
    while start < limit:
        end = start + length
        base_sum = total
        count = high - low
        position = low
        earliest = start
        while position < high and ends[position] < end:
            when = ends[position]
            if when > start:
                excess = base_sum + count * when + prompt + when - start - memory
                if excess > 0:
                    earliest = min(start + excess, when)
                    break
            base_sum -= bases[position]
            count -= 1
            position += 1
        if earliest == start:
            if count == 0 or base_sum + count * end + prompt + length <= memory:
                return start
            earliest = ends[position] + 1 - length
        start = earliest
    return limit


@kernel
def insert(active, low, high, end, base, request):
    """Insert a request into the active ones, which stay sorted; return the new low and high."""
    ends, bases, ids = active
    if high == len(ends):
        for position in range(low, high):
            ends[position - low] = ends[position]
            bases[position - low] = bases[position]
            ids[position - low] = ids[position]
        high -= low
        low = 0
    position = high
    while position > low and ends[position - 1] > end:
        ends[position] = ends[position - 1]
        bases[position] = bases[position - 1]
        ids[position] = ids[position - 1]
        position -= 1
    ends[position] = end
    bases[position] = base
    ids[position] = request
    return low, high + 1


@kernel
def take_out(active, low, total, request):
    """Remove a request that has completed; return the new low, and the sum of the bases left."""
    ends, bases, ids = active
    position = low
    while ids[position] != request:
        position += 1
    total -= bases[position]
    # Most often the first to end is the first in line: then nothing moves.
    while position > low:
        ends[position] = ends[position - 1]
        bases[position] = bases[position - 1]
        ids[position] = ids[position - 1]
        position -= 1
    return low + 1, total


@kernel
def admit_in_order(requests, by_rank, memory, passes, worker, heaps, starts, now, event):
    """Start what may start in round ``now``, in rank order; return what has changed.

    So many ``passes`` are made over requests that would exceed the memory later.  The worker is
    (active, low, high, sum of the bases); the heaps are ranks that wait, (round, request) of
    completions, and an empty list; nothing else changes before the round ``event``.  Returned are
    low, high and sum; the first round at which another request might start if nothing happens
    until then; how many were started, the sum of their prompts and of the squares of these.
    """
    _, prompts, beliefs, outputs = requests
    active, low, high, total = worker
    waiting, completions, passed = heaps
    held_next = total + (high - low) * (now + 1)
    next_try = event
    started = prefilled = squares = 0
    while len(waiting) > 0:
        request = by_rank[waiting[0]]
        prompt = prompts[request]
        begin = event
        # Until the next event the tokens held only grow: what does not fit now will not then.
        if held_next + prompt + 1 <= memory:
            begin = first_feasible(
                active, low, high, total, prompt, beliefs[request], memory, now, event
            )
        if begin > now:
            next_try = min(next_try, begin)
            if len(passed) >= passes:
                break
            passed.append(heappop(waiting))
            continue
        heappop(waiting)
        starts[request] = now
        started += 1
        prefilled += prompt
        squares += prompt * prompt
        held_next += prompt + 1
        total += prompt - now
        low, high = insert(active, low, high, now + beliefs[request], prompt - now, request)
        heappush(completions, (now + outputs[request], request))
        event = min(event, completions[0][0])
    while len(passed) > 0:
        heappush(waiting, passed.pop())
    return low, high, total, min(next_try, event), started, prefilled, squares


@kernel
def run_in_order(requests, line, memory, passes, active, starts):
    """Start arrived requests in rank order where the look-ahead allows it; fill ``starts``.

    At every round the waiting requests that have arrived are taken in rank order; each starts if
    no round until the last believed completion would hold more than M tokens.  The first that
    would exceed it ends the round's admission (the common Phase 2 of wang2025 Alg. 1, 6 and 7 and
    of jaillet2025_v2 Alg. 1 and 2), but so many ``passes`` are made in a round over such requests.
    Rounds in which nothing can change are skipped.  ``active`` is scratch space of shape (n,).
    """
    arrivals = requests[0]
    by_rank, ranks, by_arrival = line
    n = len(starts)
    # Heaps of ranks and of (round, request); what leaves at once tells a compiler the type.
    waiting, completions, passed = [0], [(0, 0)], [0]
    waiting.pop(), completions.pop(), passed.pop()
    heaps = (waiting, completions, passed)
    low = high = total = arrived = started = 0  # total is the sum of the active requests' bases
    now = arrivals[by_arrival[0]]
    while started < n:
        while arrived < n and arrivals[by_arrival[arrived]] <= now:
            heappush(waiting, ranks[by_arrival[arrived]])
            arrived += 1
        while len(completions) > 0 and completions[0][0] <= now:
            low, total = take_out(active, low, total, heappop(completions)[1])
        event = arrivals[by_arrival[arrived]] if arrived < n else NEVER
        if len(completions) > 0:
            event = min(event, completions[0][0])
        worker = (active, low, high, total)
        low, high, total, now, new, _, _ = admit_in_order(
            requests, by_rank, memory, passes, worker, heaps, starts, now, event
        )
        started += new


def starts_in_order(
    requests: Requests, by_rank: Ints, memory: int, *, passes: int = 0
) -> list[int]:
    """Return the start rounds of ``run_in_order``, compiled where the instance is large.

    With n ``passes``, requests that do not fit and are passed over in a round, it is first fit.
    """
    n = len(by_rank)
    columns, line = as_integers(requests), line_of(requests.arrivals, by_rank)
    if compiled.pays(n):
        active = Active(*(np.zeros(n, np.int64) for _ in range(3)))
        starts = np.zeros(n, np.int64)
        run = compiled.compiled(run_in_order)
        run(columns, line, np.int64(memory), np.int64(passes), active, starts)
        return starts.tolist()
    plain = [0] * n
    run_in_order(
        Requests(*(column.tolist() for column in columns)),
        Line(*(column.tolist() for column in line)),
        memory,
        passes,
        Active([0] * n, [0] * n, [0] * n),
        plain,
    )
    return plain


def as_integers(requests: Requests) -> Requests:
    """Return the columns as contiguous arrays of 64-bit integers."""
    return Requests(*(np.ascontiguousarray(column, dtype=np.int64) for column in requests))


def line_of(arrivals: Ints, by_rank: Ints) -> Line:
    """Return an order of requests with its inverse, and the requests by arrival."""
    by_rank = np.ascontiguousarray(by_rank, dtype=np.int64)
    by_arrival = np.argsort(arrivals, kind="stable").astype(np.int64)
    return Line(by_rank, np.argsort(by_rank).astype(np.int64), by_arrival)


def compile_kernels() -> None:
    """Load the kernel of queues, which compiles it where no other process has before."""
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    requests = Requests(zero, zero, one, one)
    scratch = Active(zero.copy(), zero.copy(), zero.copy())
    run = compiled.compiled(run_in_order)
    run(requests, line_of(zero, zero), np.int64(1), np.int64(0), scratch, zero.copy())
