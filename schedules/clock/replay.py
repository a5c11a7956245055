"""A schedule in real time, played again: when each round begins, and what that means for requests.

All in Python integers, from the schedule alone; nothing is shared with what makes schedules.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from instances import Instance
from instances.batch_time import NANOSECONDS, BatchTime, BatchTimeError, parse_batch_time
from schedules.clock.request_runs import RequestRun, runs_of
from schedules.schedule import Schedule
from schedules.verdict import Verdict, malformed
from support.message_text import integer_text


class ReplayError(ValueError):
    """The rounds of a schedule cannot be put on the clock; ``verdict`` says why."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class Stretch(NamedTuple):
    """Rounds between which nothing changes but the tokens read, ``decoding`` more in each.

    There is one where something is prefilled.  They follow each other without a gap from ``begin``
    to ``end`` (ns); the sums are of the first round, as in ``instances.batch_time.Batch``.
    """

    first: int
    rounds: int
    begin: int
    end: int
    prefilled: int
    squares: int
    decoding: int
    read: int


class RequestTimes(NamedTuple):
    """Times and tokens of a request (nanoseconds, tokens).

    It was first worked on in the round that began at ``begin``.  The round that ended at
    ``first_token`` made the first of the tokens that it is left with.  ``evictions`` are attempts
    that were cancelled, ``recomputed`` tokens prefilled or made beyond its prompt and its output.
    """

    arrival: int
    begin: int
    first_token: int
    completion: int
    evictions: int
    recomputed: int


@dataclass(frozen=True)
class Replay:
    """Rounds on the clock, in stretches, and the times of each request, in the instance's order."""

    batch_time: BatchTime
    stretches: list[Stretch]
    requests: list[RequestTimes]
    runs: list[list[RequestRun]]

    @property
    def tel(self) -> int:
        """Total latency (nanoseconds)."""
        return sum(each.completion - each.arrival for each in self.requests)


def replay_schedule(instance: Instance, schedule: Schedule) -> Replay:
    """Play a schedule of an instance in seconds, in O(n log n) for n runs and chunks.

    The fields of the schedule must have the right lengths; whether it keeps within the memory is
    not looked at.  A :class:`ReplayError` is raised if the batch time is unknown, a round has no
    batch or begins before the one before ends, or a run begins before its request has arrived.
    """
    clock = schedule.clock
    assert clock is not None
    try:
        batch_time = parse_batch_time(clock.batch_time)
    except BatchTimeError as error:
        raise ReplayError(malformed(str(error))) from None
    runs = list(runs_of(instance, schedule))
    stretches = _stretches(batch_time, runs, clock.begins)
    begins = {each.first: each.begin for each in stretches}
    ends = {each.first + each.rounds: each.end for each in stretches}
    times = []
    for request, of_request in zip(instance.requests, runs, strict=True):
        # The one rule of rounding, half to even.
        arrival = round(request.arrival * NANOSECONDS)
        for run in of_request:
            if begins[run.first_chunk] < arrival:
                raise ReplayError(
                    Verdict(
                        "infeasible",
                        f"request id {request.id} is worked on in round "
                        f"{integer_text(run.first_chunk)}, which begins at "
                        f"{integer_text(begins[run.first_chunk])} ns, before its arrival at "
                        f"{integer_text(arrival)} ns",
                        time=run.first_chunk,
                        request_ids=(request.id,),
                    )
                )
        times.append(_times(request.prompt + request.output, arrival, of_request, begins, ends))
    return Replay(batch_time, stretches, times, runs)


def _times(
    tokens: int, arrival: int, runs: list[RequestRun], begins: dict[int, int], ends: dict[int, int]
) -> RequestTimes:
    first = len(runs) - 1
    while runs[first].kept:
        first -= 1  # its tokens were kept from the run before
    computed = sum(sum(run.chunks) + run.made for run in runs)
    return RequestTimes(
        arrival=arrival,
        begin=begins[runs[0].first_chunk],
        first_token=ends[runs[first].last_chunk + 1],
        completion=ends[runs[-1].end],
        evictions=len(runs) - 1,
        recomputed=computed - tokens,
    )


def _stretches(
    batch_time: BatchTime, runs: list[list[RequestRun]], late: Iterable[tuple[int, int]]
) -> list[Stretch]:
    """Return all rounds from 0 on, cut wherever a batch changes or a round begins late.

    A request that prefilled its last chunk in round b decodes in rounds b + 1, b + 2, ... and
    reads in round r what it holds at the beginning, s + k + r - b.
    """
    gaps = dict(late)
    prefilled: dict[int, int] = defaultdict(int)
    squares: dict[int, int] = defaultdict(int)
    # What changes at the beginning of a round: how many decode, and what they read besides it.
    more: dict[int, int] = defaultdict(int)
    shift: dict[int, int] = defaultdict(int)
    for run in chain.from_iterable(runs):
        for number, before, tokens in run.prefills():
            prefilled[number] += tokens
            squares[number] += tokens * (2 * before + tokens)
        if run.made > 1:
            constant = run.prompt + run.kept - run.last_chunk
            more[run.last_chunk + 1] += 1
            shift[run.last_chunk + 1] += constant
            more[run.end] -= 1
            shift[run.end] -= constant
    # A round that prefills is a separate stretch.
    numbers = sorted({*gaps, *prefilled, *more, *(number + 1 for number in prefilled)})
    if numbers[0] != 0:
        raise ReplayError(malformed("round 0 has no batch"))
    stretches: list[Stretch] = []
    decoding = constant = time = 0
    for number, following in zip(numbers, [*numbers[1:], numbers[-1] + 1], strict=True):
        decoding += more.get(number, 0)
        constant += shift.get(number, 0)
        if not decoding and number not in prefilled:
            if number == numbers[-1] and number not in gaps:
                break  # all has ended
            raise ReplayError(malformed(f"round {integer_text(number)} has no batch"))
        time = _begin(number, time, gaps)
        prefill = prefilled.get(number, 0), squares.get(number, 0)
        sums = *prefill, decoding, constant + decoding * number
        end = time + _duration(batch_time, sums, following - number)
        stretches.append(Stretch(number, following - number, time, end, *sums))
        time = end
    return stretches


def _begin(number: int, ended: int, gaps: dict[int, int]) -> int:
    if number not in gaps:
        return ended
    begin = gaps[number]
    if begin <= ended:
        raise ReplayError(
            Verdict(
                "infeasible",
                f"round {integer_text(number)} is to begin at {integer_text(begin)} ns, "
                f"expected later than {integer_text(ended)} ns, when it may begin",
                time=number,
            )
        )
    return begin


def _duration(batch_time: BatchTime, sums: tuple[int, int, int, int], rounds: int) -> int:
    """Return how long so many rounds take (ns), the first with these sums.

    Only the tokens read change, by ``decoding`` a round, so the i-th round takes x + i · y
    picoseconds.  Rounding up adds (−x − i · y) mod 1000 picoseconds, which repeats every 1000
    rounds, so a long stretch costs no more than 1000 steps.
    """
    if rounds == 1:
        return batch_time.time_of(*sums)
    prefilled, squares, decoding, read = sums
    base, per_prefill, per_square, per_decode, per_read = batch_time.coefficients
    x = base + per_prefill * prefilled + per_square * squares
    x += per_decode * decoding + per_read * read
    y = per_read * decoding
    if x == 0 == y:
        return rounds  # a round of no time takes one nanosecond
    if x == 0:
        return 1 + _duration(
            batch_time, (prefilled, squares, decoding, read + decoding), rounds - 1
        )
    whole, rest = divmod(rounds, 1000)
    padding = sum(-(x + i * y) % 1000 for i in range(rest))
    if whole:
        padding += whole * sum(-(x + i * y) % 1000 for i in range(1000))
    return (rounds * x + rounds * (rounds - 1) // 2 * y + padding) // 1000
