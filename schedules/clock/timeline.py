"""What happened when: the rounds of a schedule in seconds, and the times of its requests.

All times are integers in nanoseconds, all sums exact.  A timeline describes any schedule of the
right shape; whether that schedule is possible, and its TEL true, the checker says, which puts it on
the clock by code of its own (``schedules.clock.replay``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances.batch_time import BatchTime, parse_batch_time
from instances.model import Instance
from schedules.clock.runs import runs_of
from schedules.model import Schedule

Ints = NDArray[np.int64]
#: Beyond this, sums of picoseconds are taken in Python's integers.
_SAFE = 2**62
#: Nanoseconds up to which a float tells that 64 bits hold them.
_LATEST = 2**63 - 2**50
#: Rounds beyond which there is no timeline, since a hundred bytes a round are needed.
MOST_ROUNDS = 20_000_000


@dataclass(frozen=True)
class Rounds:
    """Every round, in arrays of one entry a round."""

    #: Nanoseconds.
    begins: Ints
    durations: Ints
    #: Requests that are prefilled or make a token in the round.
    running: Ints
    #: Requests that have arrived when it begins, and neither run nor are complete.
    waiting: Ints
    #: Tokens held at its end.
    tokens: Ints
    #: What its batch time is of (:class:`instances.batch_time.Batch`).
    prefilled: Ints
    squares: Ints
    decoding: Ints
    read: Ints

    @property
    def ends(self) -> Ints:
        """When each round ends, nanoseconds."""
        found: Ints = self.begins + self.durations
        return found

    def __len__(self) -> int:
        return len(self.begins)


@dataclass(frozen=True)
class Timeline:
    """The times of every request, in the instance's order, and every round.

    A token counts where it was made in the end: one that was lost when its request was cancelled,
    and made again, counts the second time; one that was kept, the first.
    """

    #: Nanoseconds, shape (n,): when each request arrived, when the round began in which it first
    #: ran, when its first token and when its last one was there.
    arrivals: Ints
    begins: Ints
    first_tokens: Ints
    completions: Ints
    #: Times that each request was evicted or cancelled.
    evictions: Ints
    #: Tokens that were computed again: of prompts and of kept output tokens in further prefills,
    #: and output tokens that were made a second time.
    recomputed: Ints
    #: Tokens of each request.
    prompts: Ints
    outputs: Ints
    #: The times between two tokens of one request (nanoseconds), and how often each occurs.
    gaps: Ints
    gap_counts: Ints
    rounds: Rounds

    @property
    def latencies(self) -> Ints:
        """Completion less arrival of each request (ns); their sum is the TEL."""
        found: Ints = self.completions - self.arrivals
        return found

    @property
    def duration(self) -> int:
        """Nanoseconds from the first arrival to the last completion."""
        return int(self.completions.max()) - int(self.arrivals.min())


@dataclass(frozen=True)
class _Runs:
    """All runs, attempts included: whose it is, its virtual start, tokens kept, its last token."""

    owner: Ints
    start: Ints
    kept: Ints
    last: Ints

    @property
    def begin(self) -> Ints:
        """The round of its last chunk, at the end of which it makes a token."""
        found: Ints = self.start + self.kept
        return found

    @property
    def made(self) -> Ints:
        """Tokens that it makes."""
        found: Ints = np.maximum(self.last - self.kept, 0)
        return found


@dataclass(frozen=True)
class _Chunks:
    """All pieces of prefills: whose run it is, its round, tokens before it and in it."""

    run: Ints
    round: Ints
    before: Ints
    tokens: Ints


def timeline(instance: Instance, schedule: Schedule) -> Timeline:
    """Return when everything in a schedule in seconds happened.

    Raises
    ------
    ValueError
        If the instance is in rounds, the schedule has no clock, it has rounds in which nothing
        runs, more than :data:`MOST_ROUNDS`, or they take too long; a BatchTimeError without one.
    """
    if schedule.clock is None:
        raise ValueError(f"{schedule.method}: expected a schedule with a clock, found none")
    arrivals = instance.arrival_times
    runs, chunks = _runs(instance, schedule)
    count = int((runs.begin + np.maximum(runs.made, 1)).max())
    _check_count(schedule.method, count, int(runs.made.sum()) + len(chunks.run) + len(runs.owner))
    decoding = _covered(runs.begin + 1, runs.start + runs.last, count)
    read = _held(instance.prompts, runs, runs.begin + 1, count)
    prefilled = _sums(chunks.round, chunks.tokens, count)
    squares = _sums(chunks.round, chunks.tokens * (2 * chunks.before + chunks.tokens), count)
    sums = (prefilled, squares, decoding, read)
    durations = _durations(parse_batch_time(schedule.clock.batch_time), *sums)
    begins = _begins(durations, schedule.clock.begins)
    ends = begins + durations
    n, outputs = len(instance), instance.outputs
    last = runs.start[:n] + outputs - 1
    running = decoding + _sums(chunks.round, np.ones_like(chunks.round), count)
    arrived = np.searchsorted(np.sort(arrivals), begins, side="right")
    held = np.array([schedule.held_prompt(each.prompt) for each in instance.requests])
    complete = np.cumsum(_sums(last + 1, np.ones_like(last), count + 1))[:count]
    rounds = Rounds(
        begins=begins,
        durations=durations,
        running=running,
        waiting=arrived - complete - running,
        tokens=_held(held, runs, runs.begin, count, after=1)
        + _sums(*_unfinished(runs, chunks), count),
        prefilled=prefilled,
        squares=squares,
        decoding=decoding,
        read=read,
    )
    first, gaps, counts = _tokens(runs, n, ends)
    return Timeline(
        arrivals=arrivals,
        begins=begins[_first_rounds(runs, chunks, n)],
        first_tokens=first,
        completions=ends[last],
        evictions=_sums(runs.owner, np.ones_like(runs.owner), n) - 1,
        recomputed=_sums(runs.owner[chunks.run], chunks.tokens, n)
        - instance.prompts
        + _sums(runs.owner, runs.made, n)
        - outputs,
        prompts=instance.prompts,
        outputs=outputs,
        gaps=gaps,
        gap_counts=counts,
        rounds=rounds,
    )


def _check_count(method: str, count: int, batches: int) -> None:
    """Refuse more rounds than there can be batches, or than memory holds."""
    if count > batches:
        raise ValueError(f"{method}: expected rounds with a batch, found empty ones")
    if count > MOST_ROUNDS:
        raise ValueError(f"{method}: expected at most {MOST_ROUNDS:,} rounds, found {count:,}")


def _runs(instance: Instance, schedule: Schedule) -> tuple[_Runs, _Chunks]:
    """Return the runs that count, in the instance's order, and after them the attempts."""
    of_requests = list(runs_of(instance, schedule))
    runs = [
        *(each[-1] for each in of_requests),
        *(run for each in of_requests for run in each[:-1]),
    ]
    told = [
        (each.position, each.last_chunk - each.kept, each.kept, each.kept + each.made)
        for each in runs
    ]
    chunks = [
        (number, at, before, tokens)
        for number, each in enumerate(runs)
        for at, before, tokens in each.prefills()
    ]
    return _Runs(*np.array(told, dtype=np.int64).T), _Chunks(*np.array(chunks, dtype=np.int64).T)


def _first_rounds(runs: _Runs, chunks: _Chunks, n: int) -> Ints:
    """Return the round in which each request first ran."""
    earliest = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(earliest, runs.owner[chunks.run], chunks.round)
    np.minimum.at(earliest, runs.owner, runs.begin)
    return earliest


def _unfinished(runs: _Runs, chunks: _Chunks) -> tuple[Ints, Ints]:
    """Return rounds and tokens of what is held at the end of chunks after which no token came."""
    none = (chunks.round < runs.begin[chunks.run]) | (runs.made[chunks.run] == 0)
    return chunks.round[none], (chunks.before + chunks.tokens)[none]


def _sums(places: Ints, values: Ints, count: int) -> Ints:
    """Return the sum of the values at each of the places 0..count − 1."""
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, places, values)
    return total


def _covered(first: Ints, end: Ints, count: int) -> Ints:
    """Return how many of the intervals first..end − 1 hold each of the rounds 0..count − 1."""
    some = end > first
    changes = _sums(first[some], np.ones(int(some.sum()), np.int64), count + 1)
    changes -= _sums(end[some], np.ones(int(some.sum()), np.int64), count + 1)
    covered: Ints = np.cumsum(changes)[:count]
    return covered


def _held(prompts: Ints, runs: _Runs, first: Ints, count: int, after: int = 0) -> Ints:
    """Return what runs hold in the rounds from ``first`` to their last, that make tokens.

    At the beginning of round r that is s + r − start for each; ``after`` = 1 asks for the end.
    """
    end = runs.start + runs.last
    some = (end > first) & (runs.made > 0)
    held = (prompts[runs.owner] - runs.start + after)[some]
    constant = _sums(first[some], held, count + 1) - _sums(end[some], held, count + 1)
    slope = _covered(first[some], end[some], count)
    total: Ints = np.cumsum(constant)[:count] + slope * np.arange(count)
    return total


def _durations(
    model: BatchTime, prefilled: Ints, squares: Ints, decoding: Ints, read: Ints
) -> Ints:
    """Return how long rounds take (ns): ``BatchTime.time_of`` for all at once."""
    sums = (prefilled, squares, decoding, read)
    most = model.base + sum(
        each * int(values.max()) for each, values in zip(model.coefficients[1:], sums, strict=True)
    )
    if most >= _SAFE:
        batches = zip(*(values.tolist() for values in sums), strict=True)
        slow = [model.time_of(*batch) for batch in batches]
        if sum(slow) >= 2**63:
            raise ValueError("rounds take more nanoseconds than 64 bits hold")
        return np.array(slow, dtype=np.int64)
    picoseconds = np.full(len(read), model.base, dtype=np.int64)
    for each, values in zip(model.coefficients[1:], sums, strict=True):
        picoseconds += each * values
    return np.maximum(1, -(-picoseconds // 1000))


def _begins(durations: Ints, stated: Iterable[tuple[int, int]]) -> Ints:
    """Return when rounds begin: when the one before ends, or when it is stated (ns)."""
    told = [(0, 0), *stated]
    if told[-1][1] + float(durations.sum(dtype=np.float64)) >= _LATEST:
        raise ValueError("rounds take more nanoseconds than 64 bits hold")
    marks = np.array(told, dtype=np.int64)
    elapsed = np.cumsum(durations) - durations
    mark = np.searchsorted(marks[:, 0], np.arange(len(durations)), side="right") - 1
    rounds, times = marks[mark, 0], marks[mark, 1]
    begins: Ints = times + elapsed - elapsed[rounds]
    return begins


def _tokens(runs: _Runs, n: int, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return when first tokens came, and the times between tokens with their numbers.

    Tokens first..last of a stretch were made one a round, token j at the end of start + j − 1.
    """
    first = ends[runs.begin[:n]]
    firsts, lasts = [runs.begin[:n] + 1], [runs.start[:n] + runs.last[:n]]
    more: list[int] = []
    for request, earlier in _kept_stretches(runs, n):
        # From the last stretch back: each ends where the next begins.
        following = int(runs.begin[request])
        for start, kept, last in earlier:
            more.append(int(ends[following]) - int(ends[start + last - 1]))
            firsts.append(np.array([start + kept + 1]))
            lasts.append(np.array([start + last]))
            following = start + kept
        first[request] = ends[following]
    counts = _covered(np.concatenate(firsts), np.concatenate(lasts), len(ends))
    gaps = np.diff(ends, prepend=0)
    some = counts > 0
    return (
        first,
        np.concatenate((gaps[some], np.array(more, dtype=np.int64))),
        np.concatenate((counts[some], np.ones(len(more), dtype=np.int64))),
    )


def _kept_stretches(runs: _Runs, n: int) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield each request whose last run kept tokens, and where these were made, the last first.

    (start, k, j) says that tokens k + 1..j were made in the run of that virtual start.
    """
    keepers = np.flatnonzero(runs.kept[:n])
    if not len(keepers):
        return
    attempts: dict[int, list[int]] = {int(request): [] for request in keepers}
    for number in range(n, len(runs.owner)):
        attempts.get(int(runs.owner[number]), []).append(number)
    for request, numbers in attempts.items():
        left, found = int(runs.kept[request]), []
        for number in reversed(numbers):
            kept = int(runs.kept[number])
            if kept < left:
                found.append((int(runs.start[number]), kept, left))
                left = kept
        yield request, found
