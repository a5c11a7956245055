"""Look-ahead admission in a given order in real time: the kernel of ``admission`` with a clock."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from heuristics import compiled
from heuristics.admission import (
    NEVER,
    Active,
    Column,
    Line,
    Requests,
    admit_in_order,
    as_integers,
    line_of,
    take_out,
)
from heuristics.compiled import kernel
from heuristics.policy import Ints
from heuristics.stretches import pass_rounds
from instances.batch_time import BatchTime


class Clocked(NamedTuple):
    """Arrays that the kernel fills: start rounds, completions (ns), and the gaps between rounds."""

    #: Of each request, shape (n,).
    starts: Column
    completions: Column
    #: Rounds that begin later than the one before ends, and when (ns); shape (n,), of which the
    #: kernel returns how many there are.
    gap_rounds: Column
    gap_times: Column


@dataclass(frozen=True)
class TimedStarts:
    """Start round and completion (ns) of each request, and (round, ns) of each late beginning."""

    starts: list[int]
    completions: list[int]
    gaps: list[tuple[int, int]]


@kernel
def run_in_time(requests, line, memory, passes, active, coefficients, clocked):
    """Start requests as ``run_in_order`` does, in rounds that take time; return the gaps.

    The arrivals are nanoseconds, the coefficients of the batch time picoseconds.
    """
    arrivals = requests[0]
    by_rank, ranks, by_arrival = line
    starts, ends, gap_rounds, gap_times = clocked
    base, per_prefill, per_square, per_decode, per_read = coefficients
    n = len(starts)
    waiting, completions, passed = [0], [(0, 0)], [0]
    waiting.pop(), completions.pop(), passed.pop()
    heaps = (waiting, completions, passed)
    low = high = total = arrived = done = gaps = now = time = ended = 0
    while True:
        while len(completions) > 0 and completions[0][0] <= now:
            request = heappop(completions)[1]
            low, total = take_out(active, low, total, request)
            ends[request] = time
            done += 1
        if done == n:
            return gaps
        if low == high and len(waiting) == 0:
            time = max(time, arrivals[by_arrival[arrived]])
        while arrived < n and arrivals[by_arrival[arrived]] <= time:
            heappush(waiting, ranks[by_arrival[arrived]])
            arrived += 1
        event = completions[0][0] if len(completions) > 0 else NEVER
        decoding = high - low
        read = total + decoding * now
        worker = (active, low, high, total)
        low, high, total, next_round, _, prefilled, squares = admit_in_order(
            requests, by_rank, memory, passes, worker, heaps, starts, now, event
        )
        if time > ended:
            gap_rounds[gaps] = now
            gap_times[gaps] = time
            gaps += 1
        picoseconds = base + per_prefill * prefilled + per_square * squares
        picoseconds += per_decode * decoding + per_read * read
        time += max(1, -(-picoseconds // 1000))
        now += 1
        # The rounds after the first only decode, up to the next change or arrival.
        limit = -1
        if arrived < n:
            limit = max(0, arrivals[by_arrival[arrived]] - time)
        active_now = high - low
        slope = per_read * active_now
        first = base + per_decode * active_now + per_read * (total + active_now * now)
        rounds, passed_time = pass_rounds(first, slope, next_round - now, limit)
        now += rounds
        time += passed_time
        ended = time


def starts_in_time(
    requests: Requests,
    by_rank: Ints,
    memory: int,
    batch_time: BatchTime,
    *,
    passes: int = 0,
) -> TimedStarts:
    """Return what ``run_in_time`` makes, compiled where the instance is large.

    The arrivals are nanoseconds; ``by_rank`` has positions in the order in which they are taken.
    """
    n = len(by_rank)
    columns, line = as_integers(requests), line_of(requests.arrivals, by_rank)
    coefficients = batch_time.coefficients
    if compiled.pays(n) and _fits_64_bits(columns, memory, batch_time):
        active = Active(*(np.zeros(n, np.int64) for _ in range(3)))
        filled = Clocked(*(np.zeros(n, np.int64) for _ in range(4)))
        run = compiled.compiled(run_in_time)
        gaps = run(columns, line, np.int64(memory), np.int64(passes), active, coefficients, filled)
        plain = Clocked(*(column.tolist() for column in filled))
    else:
        plain = Clocked(*([0] * n for _ in range(4)))
        gaps = run_in_time(
            Requests(*(column.tolist() for column in columns)),
            Line(*(column.tolist() for column in line)),
            memory,
            passes,
            Active([0] * n, [0] * n, [0] * n),
            coefficients,
            plain,
        )
    late = list(zip(plain.gap_rounds[:gaps], plain.gap_times[:gaps], strict=True))
    return TimedStarts(plain.starts, plain.completions, late)


def _fits_64_bits(requests: Requests, memory: int, batch_time: BatchTime) -> bool:
    """Tell whether no number of the kernel can exceed 64 bits.

    A round prefills, decodes and reads at most M tokens, and squares at most M².  Each round makes
    a token that counts, so there are at most Σ o of them.
    """
    base, per_prefill, per_square, per_decode, per_read = batch_time.coefficients
    longest = base + (per_prefill + per_square * memory + per_decode + per_read) * memory + 1000
    rounds = int(requests.outputs.sum())
    return longest * rounds + 1000 * int(requests.arrivals.max()) < NEVER * 1000 and (
        longest < NEVER
    )


def compile_kernels() -> None:
    """Load the kernel of queues on a clock, which compiles it where no other process has before."""
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    requests = Requests(zero, zero, one, one)
    scratch = Active(zero.copy(), zero.copy(), zero.copy())
    filled = Clocked(zero.copy(), zero.copy(), zero.copy(), zero.copy())
    run = compiled.compiled(run_in_time)
    coefficients = (1, 1, 1, 1, 1)
    run(requests, line_of(zero, zero), np.int64(1), np.int64(0), scratch, coefficients, filled)
