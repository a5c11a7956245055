"""Look-ahead admission: when may a request start so that memory is never exceeded later.

The active requests are kept in three parallel sequences sorted by the completion that the policy
expects: ``ends`` (round of completion), ``bases`` (prompt − start, so that the tokens held at
round t are base + t) and ``ids``.  Only plain loops over indexable sequences are used, so that the
same source runs interpreted on lists and compiled on arrays.
"""

from __future__ import annotations

import os
from heapq import heappop, heappush

#: Set while ``heuristics.compiled`` loads this file a second time, to be compiled.
COMPILE_FLAG = "KVOPT_COMPILE_ADMISSION"

if COMPILE_FLAG in os.environ:
    from numba import njit

    kernel = njit(cache=True, nogil=True)
else:

    def kernel(function):
        """Leave a function as it is."""
        return function


#: Later than every round that can occur: arrivals and outputs are bounded in ``instances.model``.
NEVER = 1 << 61


@kernel
def first_feasible(ends, bases, low, high, total, prompt, length, memory, now, limit):
    """Return the first round in [now, limit) at which a request fits, or ``limit``.

    The active requests are those at low..high−1; they are taken to run until ``ends``, and none
    is taken to join.

    Between two completions the tokens held grow, so the memory row is tight only at completions
    and it is enough to look at the ``ends`` inside the run of the candidate and at its own end.
    If the row fails at an end τ of an active request, then starting d rounds later lowers the
    candidate's share at τ by d and keeps τ inside its run, so no start before now + excess can
    do (unless that is past τ, which is a later round anyway).  If the row fails at the candidate's
    own end e, the active requests that run at e hold more at every later round until the first of
    them ends, at τ ≥ e, so no start with an end in [e, τ] can do.  Each step skips only rounds
    that are infeasible: the result is the first feasible one.

    Parameters
    ----------
    ends, bases : sequences of int
        Completion round and prompt − start (tokens − rounds) of each active request, by ``ends``.
    total : int
        Sum of the bases.
    prompt, length : int
        Tokens of the candidate: prompt, and the output that the policy believes.
    memory : int
        M, tokens.
    now, limit : int
        Rounds.
    """
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
def first_feasible_start(ends, bases, active, prompt, length, memory, now, limit):
    """As ``first_feasible`` for active requests at 0..active−1 whose bases are not summed yet."""
    total = 0
    for position in range(active):
        total += bases[position]
    return first_feasible(ends, bases, 0, active, total, prompt, length, memory, now, limit)


@kernel
def insert_active(ends, bases, ids, active, end, base, request):
    """Insert a request into the sequences of active requests, which stay sorted by ``ends``."""
    position = active
    while position > 0 and ends[position - 1] > end:
        ends[position] = ends[position - 1]
        bases[position] = bases[position - 1]
        ids[position] = ids[position - 1]
        position -= 1
    ends[position] = end
    bases[position] = base
    ids[position] = request


@kernel
def remove_active(ends, bases, ids, active, request):
    """Remove a request from the sequences of active requests, which stay sorted by ``ends``."""
    position = 0
    while ids[position] != request:
        position += 1
    while position < active - 1:
        ends[position] = ends[position + 1]
        bases[position] = bases[position + 1]
        ids[position] = ids[position + 1]
        position += 1


@kernel
def run_in_order(
    arrivals,
    prompts,
    beliefs,
    outputs,
    by_rank,
    ranks,
    by_arrival,
    memory,
    first_fit,
    ends,
    bases,
    ids,
    starts,
):
    """Start arrived requests in rank order where the look-ahead allows it; fill ``starts``.

    At every round the waiting requests that have arrived are taken in rank order; each starts if
    no round until the last believed completion would hold more than M tokens.  The first that
    would exceed it ends the round's admission (the common Phase 2 of wang2025 Alg. 1, 6 and 7 and
    of jaillet2025_v2 Alg. 1 and 2), unless ``first_fit``, which passes over it.  Rounds in which
    nothing can change are skipped.

    Parameters
    ----------
    arrivals, prompts, beliefs, outputs : sequences of int, shape (n,)
        Arrival round, prompt, believed output (≥ true output) and true output (tokens).
    by_rank, ranks, by_arrival : sequences of int, shape (n,)
        Requests by rank, its inverse, and requests by arrival.
    memory : int
        M, tokens.
    ends, bases, ids, starts : sequences of int, shape (n,)
        Scratch space for the active requests, and the start rounds to be filled.
    """
    n = len(starts)
    waiting = [0]  # a heap of ranks; the first entry only tells a compiler the type
    waiting.pop()
    completions = [(0, 0)]  # a heap of (round, request)
    completions.pop()
    passed = [0]
    passed.pop()
    low = 0  # the active requests are at low..high−1 of ends, bases and ids
    high = 0
    total = 0  # the sum of their bases
    arrived = 0
    started = 0
    now = 0
    while started < n:
        if low == high and len(waiting) == 0:
            now = max(now, arrivals[by_arrival[arrived]])
        while arrived < n and arrivals[by_arrival[arrived]] <= now:
            heappush(waiting, ranks[by_arrival[arrived]])
            arrived += 1
        while len(completions) > 0 and completions[0][0] <= now:
            request = heappop(completions)[1]
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
            low += 1
        next_event = NEVER
        if arrived < n:
            next_event = arrivals[by_arrival[arrived]]
        if len(completions) > 0:
            next_event = min(next_event, completions[0][0])
        held_next = total + (high - low) * (now + 1)
        next_try = next_event
        while len(waiting) > 0:
            request = by_rank[waiting[0]]
            prompt = prompts[request]
            begin = next_event
            # Until the next event the tokens held only grow: what does not fit now will not then.
            if held_next + prompt + 1 <= memory:
                begin = first_feasible(
                    ends,
                    bases,
                    low,
                    high,
                    total,
                    prompt,
                    beliefs[request],
                    memory,
                    now,
                    next_event,
                )
            if begin > now:
                next_try = min(next_try, begin)
                if not first_fit:
                    break
                passed.append(heappop(waiting))
                continue
            heappop(waiting)
            starts[request] = now
            started += 1
            held_next += prompt + 1
            total += prompt - now
            if high == n:
                for position in range(low, high):
                    ends[position - low] = ends[position]
                    bases[position - low] = bases[position]
                    ids[position - low] = ids[position]
                high -= low
                low = 0
            end = now + beliefs[request]
            position = high
            while position > low and ends[position - 1] > end:
                ends[position] = ends[position - 1]
                bases[position] = bases[position - 1]
                ids[position] = ids[position - 1]
                position -= 1
            ends[position] = end
            bases[position] = prompt - now
            ids[position] = request
            high += 1
            heappush(completions, (now + outputs[request], request))
            next_event = min(next_event, completions[0][0])
        while len(passed) > 0:
            heappush(waiting, passed.pop())
        now = min(next_try, next_event)
