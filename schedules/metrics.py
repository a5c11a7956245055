"""Numbers that describe a schedule in rounds: makespan and memory use (tokens).

They describe any schedule of the right shape, also one that cannot be run: one start a request, one
list of attempts a request, and one count of kept tokens a run, less than its tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from operator import ge
from typing import NamedTuple

from instances.model import Instance
from schedules.clock.runs import runs_of
from schedules.model import Schedule


class Holding(NamedTuple):
    """One stretch of time in which a request holds memory: of the run that counts, or an attempt.

    It holds ``prompt`` + j tokens at time ``start`` + j for j = 1..``tokens``.  What a run kept of
    the attempt before counts as prompt, and ``start`` is the round in which it really begins.
    """

    position: int
    start: int
    prompt: int
    tokens: int
    cancelled: bool


class MemoryProfile(NamedTuple):
    """Tokens held over time as breakpoints: times (rounds, increasing) and tokens.

    At every integer time from the first breakpoint to the last, linear interpolation between the
    neighbouring breakpoints gives the tokens held exactly; outside of them nothing is held.
    """

    times: tuple[int, ...]
    tokens: tuple[int, ...]


def makespan(instance: Instance, schedule: Schedule) -> int:
    """Return the time of the last completion (rounds, counted from time 0)."""
    _same_shape(instance, schedule)
    return max(
        start + request.output
        for start, request in zip(schedule.starts, instance.requests, strict=True)
    )


def memory_profile(instance: Instance, schedule: Schedule) -> MemoryProfile:
    """Return the tokens held over time as breakpoints, from time 0 to the end of the last run.

    Their number depends on the requests and attempts, at most 4 for each, and not on the
    horizon.  Between two times at which a run begins or ends every running request gains one
    token a round, so the two ends of each such piece describe it (docs/problem.md).
    """
    changes: dict[int, tuple[int, int]] = {}
    for each in holdings(instance, schedule):
        offset = each.prompt - each.start
        for time, sign in ((each.start + 1, 1), (each.start + each.tokens + 1, -1)):
            constant, slope = changes.get(time, (0, 0))
            changes[time] = (constant + sign * offset, slope + sign)
    times, tokens = [0], [0]
    constant = slope = 0
    events = sorted(changes)
    if events[0] > 1:
        times.append(events[0] - 1)
        tokens.append(0)
    for begin, end in itertools.pairwise(events):
        constant += changes[begin][0]
        slope += changes[begin][1]
        times.append(begin)
        tokens.append(constant + slope * begin)
        if end - 1 > begin:
            times.append(end - 1)
            tokens.append(constant + slope * (end - 1))
    return MemoryProfile(tuple(times), tuple(tokens))


def mean_memory(instance: Instance, schedule: Schedule) -> float:
    """Return the tokens held at times 1 to makespan, averaged, cancelled attempts included."""
    volume = sum(
        each.prompt * each.tokens + each.tokens * (each.tokens + 1) // 2
        for each in holdings(instance, schedule)
    )
    return _mean(volume, makespan(instance, schedule))


def holdings(instance: Instance, schedule: Schedule) -> Iterator[Holding]:
    """Yield what holds memory: first the runs that count, then the cancelled attempts."""
    _same_shape(instance, schedule)
    runs = list(runs_of(instance, schedule))
    for run in [*(each[-1] for each in runs), *(run for each in runs for run in each[:-1])]:
        held = schedule.held_prompt(run.prompt) + run.kept
        counts = run is runs[run.position][-1]
        yield Holding(run.position, run.last_chunk, held, run.made, cancelled=not counts)


def _mean(total: int, count: int) -> float:
    try:
        return total / count
    except OverflowError:
        raise ValueError("a mean is too large for a floating-point number") from None


def _same_shape(instance: Instance, schedule: Schedule) -> None:
    n = len(instance.requests)
    if len(schedule.starts) != n:
        raise ValueError(f"expected {n} starts, one per request, found {len(schedule.starts)}")
    if schedule.attempts is not None and len(schedule.attempts) != n:
        raise ValueError(
            f"expected {n} lists of attempts, one per request, found {len(schedule.attempts)}"
        )
    if schedule.kept is None:
        return
    if len(schedule.kept) != n:
        raise ValueError(f"expected {n} lists of kept tokens, found {len(schedule.kept)}")
    attempts = schedule.attempts or ((),) * n
    for request, tried, kept in zip(instance.requests, attempts, schedule.kept, strict=True):
        made = [*(tokens for _, tokens in tried), request.output]
        if len(kept) != len(made) or any(map(ge, kept, made)):
            raise ValueError(
                f"request id {request.id}: expected {len(made)} counts of kept tokens, each less "
                "than the tokens of its run"
            )
