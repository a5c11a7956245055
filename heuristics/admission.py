"""Look-ahead admission: when may a request start so that memory is never exceeded later.

The kernels use plain loops over indexable sequences only, so that the same source runs interpreted
on lists and compiled on arrays.  (``heuristics.look_ahead_rules`` is the look-ahead of those who
decide round by round.)
"""

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from heuristics import kernel_compiler
from heuristics.equal_rounds import pass_rounds
from heuristics.kernel_compiler import kernel
from heuristics.policy import UNIT_ROUND, Ints
from instances.batch_time import BatchTime

#: A sequence of integers of shape (n,): a list, or an array of 64-bit integers.
Column = Any


class Requests(NamedTuple):
    """Requests that can start."""

    #: Nanoseconds, or rounds in unit rounds.
    arrivals: Column
    #: Tokens; an output is believed to be no less than it is.
    prompts: Column
    beliefs: Column
    outputs: Column


class RankedLine(NamedTuple):
    """Requests by rank, the rank of each, and requests by arrival."""

    by_rank: Column
    ranks: Column
    by_arrival: Column


class ActiveRequests(NamedTuple):
    """The active requests, at places low..high−1, sorted by ``ends``."""

    #: Round in which each is believed to complete.
    ends: Column
    #: Prompt − start, so that the tokens held at round t are base + t.
    bases: Column
    #: Position in the instance.
    ids: Column


class ClockArrays(NamedTuple):
    """Arrays that the kernel fills: start rounds, completions (ns), and late beginnings."""

    #: One a request, shape (n,).
    starts: Column
    completions: Column
    #: Rounds that begin later than the one before ends, and when (ns); shape (n,), of which the
    #: kernel returns how many there are.
    late_rounds: Column
    late_times: Column


#: Later than every round that can occur: arrivals and outputs are bounded in
#: ``instances.instance``.
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
    until then; the sum of the prompts that start, and of their squares.
    """
    _, prompts, beliefs, outputs = requests
    active, low, high, total = worker
    waiting, completions, passed = heaps
    held_next = total + (high - low) * (now + 1)
    next_try = event
    prefilled = squares = 0
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
        prefilled += prompt
        squares += prompt * prompt
        held_next += prompt + 1
        total += prompt - now
        low, high = insert(active, low, high, now + beliefs[request], prompt - now, request)
        heappush(completions, (now + outputs[request], request))
        event = min(event, completions[0][0])
    while len(passed) > 0:
        heappush(waiting, passed.pop())
    return low, high, total, min(next_try, event), prefilled, squares


@kernel
def serve_in_order(requests, line, memory, passes, active, coefficients, clocked):
    """Start arrived requests in rank order where the look-ahead allows it; return the late rounds.

    In every round the waiting requests that have arrived are taken in rank order; each starts if
    no round until the last believed completion would hold more than M tokens.  The first that
    would exceed it ends the round's admission (the common Phase 2 of wang2025 Alg. 1, 6 and 7 and
    of jaillet2025_v2 Alg. 1 and 2), but so many ``passes`` are made in a round over such requests.
    Rounds in which nothing can change are skipped.  ``active`` is scratch space of shape (n,), the
    arrivals are nanoseconds, the coefficients of the batch time picoseconds.
    """
    arrivals = requests[0]
    by_rank, ranks, by_arrival = line
    starts, ends, late_rounds, late_times = clocked
    base, per_prefill, per_square, per_decode, per_read = coefficients
    n = len(starts)
    # Heaps of ranks and of (round, request); the first element shows a compiler the type.
    waiting, completions, passed = [0], [(0, 0)], [0]
    waiting.pop(), completions.pop(), passed.pop()
    heaps = (waiting, completions, passed)
    low = high = total = arrived = done = late = now = time = ended = 0
    while True:
        while len(completions) > 0 and completions[0][0] <= now:
            request = heappop(completions)[1]
            low, total = take_out(active, low, total, request)
            ends[request] = time
            done += 1
        if done == n:
            return late
        if low == high and len(waiting) == 0:
            time = max(time, arrivals[by_arrival[arrived]])
        while arrived < n and arrivals[by_arrival[arrived]] <= time:
            heappush(waiting, ranks[by_arrival[arrived]])
            arrived += 1
        event = completions[0][0] if len(completions) > 0 else NEVER
        decoding = high - low
        read = total + decoding * now
        worker = (active, low, high, total)
        low, high, total, next_round, prefilled, squares = admit_in_order(
            requests, by_rank, memory, passes, worker, heaps, starts, now, event
        )
        if time > ended:
            late_rounds[late] = now
            late_times[late] = time
            late += 1
        picoseconds = base + per_prefill * prefilled + per_square * squares
        picoseconds += per_decode * decoding + per_read * read
        time += max(1, -(-picoseconds // 1000))
        now += 1
        # The rounds after the first only decode, up to the next change or arrival.
        limit = -1
        if arrived < n:
            limit = max(0, arrivals[by_arrival[arrived]] - time)
        slope = per_read * (high - low)
        first = base + per_decode * (high - low) + per_read * (total + (high - low) * now)
        rounds, passed_time = pass_rounds(first, slope, next_round - now, limit)
        now += rounds
        time += passed_time
        ended = time


def starts_in_order(
    requests: Requests, by_rank: Ints, memory: int, *, passes: int = 0
) -> list[int]:
    """Return the start rounds of ``serve_in_order`` in unit rounds.

    With n ``passes``, requests that do not fit and are passed over in a round, it is first fit.
    """
    # Each round counts one tick, idle ones too, so a request ends its output after its start.
    _, completions, _ = starts_in_time(requests, by_rank, memory, UNIT_ROUND, passes=passes)
    starts: list[int] = (np.array(completions) - requests.outputs).tolist()
    return starts


def starts_in_time(
    requests: Requests, by_rank: Ints, memory: int, batch_time: BatchTime, *, passes: int = 0
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return start rounds, completions (ns), and (round, ns) of each round that begins late.

    The arrivals are nanoseconds; ``by_rank`` has positions in the order in which they are taken.
    """
    n = len(by_rank)
    columns = Requests(*(np.ascontiguousarray(column, dtype=np.int64) for column in requests))
    by_rank = np.ascontiguousarray(by_rank, dtype=np.int64)
    by_arrival = np.argsort(columns.arrivals, kind="stable")
    line = RankedLine(by_rank, np.argsort(by_rank), by_arrival)
    compile_it = kernel_compiler.compiling_pays(n) and _fits_64_bits(columns, memory, batch_time)
    late, filled = _serve(
        columns, line, memory, passes, batch_time.coefficients, compile_it=compile_it
    )
    if compile_it:
        filled = ClockArrays(*(column.tolist() for column in filled))
    gaps = list(zip(filled.late_rounds[:late], filled.late_times[:late], strict=True))
    return filled.starts, filled.completions, gaps


def _serve(
    columns: Requests,
    line: RankedLine,
    memory: int,
    passes: int,
    coefficients: tuple[int, ...],
    *,
    compile_it: bool,
) -> tuple[int, ClockArrays]:
    zeros = np.zeros((7, len(line.by_rank)), np.int64)
    groups: Any = columns, line, ActiveRequests(*zeros[:3]), ClockArrays(*zeros[3:])
    run: Any = kernel_compiler.compiled(serve_in_order) if compile_it else serve_in_order
    if not compile_it:
        groups = [type(group)(*(column.tolist() for column in group)) for group in groups]
    columns, line, active, filled = groups
    late = run(columns, line, memory, passes, active, coefficients, filled)
    return late, filled


def _fits_64_bits(requests: Requests, memory: int, batch_time: BatchTime) -> bool:
    """Return whether no number of the kernel can exceed 64 bits.

    A round prefills, decodes and reads at most M tokens, and squares at most M².  Each round makes
    a token that counts, so there are at most Σ o of them.
    """
    base, per_prefill, per_square, per_decode, per_read = batch_time.coefficients
    longest = base + (per_prefill + per_square * memory + per_decode + per_read) * memory + 1000
    end = longest * int(requests.outputs.sum()) + 1000 * int(requests.arrivals.max())
    return end < NEVER * 1000 and longest < NEVER


def compile_kernels() -> None:
    """Load the kernel of queues, which compiles it where no other process has before."""
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    columns, line = Requests(zero, zero, one, one), RankedLine(zero, zero, zero)
    _serve(columns, line, 1, 0, (1, 1, 1, 1, 1), compile_it=True)
