"""Numbers that describe a schedule in rounds: makespan and memory use (tokens).

They describe any schedule of the right shape (``schedules.check.wrong_structure``), also one that
cannot be run, and raise ValueError for others.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.instance import Instance
from schedules.check import wrong_structure
from schedules.clock.request_runs import runs_of
from schedules.schedule import Schedule

Ints = NDArray[np.int64]


class MemoryHolding(NamedTuple):
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
    return max(
        each.start + each.tokens for each in holdings(instance, schedule) if not each.cancelled
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
    return volume / makespan(instance, schedule)


def holdings(instance: Instance, schedule: Schedule) -> Iterator[MemoryHolding]:
    """Yield what holds memory: first the runs that count, then the cancelled attempts."""
    if wrong := wrong_structure(instance, schedule):
        raise ValueError(wrong.reason)
    runs = list(runs_of(instance, schedule))
    for run in [*(each[-1] for each in runs), *(run for each in runs for run in each[:-1])]:
        held = schedule.held_prompt(run.prompt) + run.kept
        counts = run is runs[run.position][-1]
        yield MemoryHolding(run.position, run.last_chunk, held, run.made, cancelled=not counts)


def running_and_waiting(instance: Instance, schedule: Schedule, times: Ints) -> tuple[Ints, Ints]:
    """Return the running and the waiting requests at integer times (rounds), shape (k,) each.

    A request waits from its arrival to its completion whenever it does not run.
    """
    held = list(holdings(instance, schedule))
    started = np.sort([each.start for each in held])
    ended = np.sort([each.start + each.tokens for each in held])
    arrived = np.sort([int(request.arrival) for request in instance.requests])
    outputs = [request.output for request in instance.requests]
    completed = np.sort([p + o for p, o in zip(schedule.starts, outputs, strict=True)])
    running = np.searchsorted(started, times) - np.searchsorted(ended, times)
    present = np.searchsorted(arrived, times) - np.searchsorted(completed, times)
    return running, present - running
