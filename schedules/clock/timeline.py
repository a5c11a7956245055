"""Timeline: the rounds of a schedule in seconds, and the times of its requests.

All times are integers in nanoseconds, all sums exact: the checker's replay
(``schedules.clock.replay``), round by round.  Memory and TEL are the checker's to judge.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances.batch_time import BatchTime
from instances.instance import Instance
from schedules.clock.replay import Replay, replay_schedule
from schedules.clock.request_runs import RequestRun
from schedules.schedule import Schedule

Ints = NDArray[np.int64]
#: Beyond this, sums of picoseconds are taken in Python's integers.
_SAFE = 2**62
#: Rounds beyond which there is no timeline, since a hundred bytes a round are needed.
MOST_ROUNDS = 20_000_000


@dataclass(frozen=True)
class RoundArrays:
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
    #: Sums for its batch time (:class:`instances.batch_time.Batch`).
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
    rounds: RoundArrays

    @property
    def latencies(self) -> Ints:
        """Completion less arrival of each request (ns); their sum is the TEL."""
        found: Ints = self.completions - self.arrivals
        return found

    @property
    def duration(self) -> int:
        """Nanoseconds from the first arrival to the last completion."""
        return int(self.completions.max()) - int(self.arrivals.min())


def make_timeline(instance: Instance, schedule: Schedule) -> Timeline:
    """Return when everything in a schedule in seconds happened.

    A ValueError is raised if the instance is in rounds, the schedule has no clock or cannot be
    replayed, there are more than :data:`MOST_ROUNDS`, or they take more than 64 bits hold.
    """
    if schedule.clock is None:
        raise ValueError(f"{schedule.method}: expected a schedule with a clock, found none")
    arrivals = instance.arrival_times
    played = replay_schedule(instance, schedule)
    last = played.stretches[-1]
    if (count := last.first + last.rounds) > MOST_ROUNDS:
        raise ValueError(
            f"{schedule.method}: expected at most {MOST_ROUNDS:,} rounds, found {count:,}"
        )
    begins, durations, sums = _rounds(played, count)
    runs = [run for of_request in played.runs for run in of_request]
    chunks = np.array([number for run in runs for number, _, _ in run.prefills()])
    running = sums[2] + np.bincount(chunks, minlength=count)
    arrived = np.searchsorted(np.sort(arrivals), begins, side="right")
    ends_of_requests = np.array([of_request[-1].end for of_request in played.runs])
    complete = np.cumsum(np.bincount(ends_of_requests, minlength=count + 1))[:count]
    waiting, held = arrived - complete - running, _held(schedule, runs, count)
    rounds = RoundArrays(begins, durations, running, waiting, held, *sums)
    gaps, counts = _gaps(played.runs, rounds.ends)
    _, first_begins, first_tokens, completions, evictions, recomputed = np.array(
        played.requests, dtype=np.int64
    ).T
    return Timeline(
        arrivals=arrivals,
        begins=first_begins,
        first_tokens=first_tokens,
        completions=completions,
        evictions=evictions,
        recomputed=recomputed,
        prompts=instance.prompts,
        outputs=instance.outputs,
        gaps=gaps,
        gap_counts=counts,
        rounds=rounds,
    )


def _rounds(played: Replay, count: int) -> tuple[Ints, Ints, tuple[Ints, Ints, Ints, Ints]]:
    """Return begins and durations of all rounds, and the four sums that a batch time is of."""
    stretches = played.stretches
    if stretches[-1].end >= 2**63:
        raise ValueError("rounds take more nanoseconds than 64 bits hold")
    firsts, lengths, starts, _, *sums = np.array(stretches, dtype=np.int64).T
    where = np.repeat(np.arange(len(stretches)), lengths)
    prefilled, squares, decoding, read = (each[where] for each in sums)
    read += decoding * (np.arange(count) - firsts[where])
    found = (prefilled, squares, decoding, read)
    durations = _durations(played.batch_time, *found)
    elapsed = np.cumsum(durations) - durations
    return starts[where] + elapsed - elapsed[firsts][where], durations, found


def _held(schedule: Schedule, runs: Iterable[RequestRun], count: int) -> Ints:
    """Return the tokens that runs hold at the end of each round."""
    pieces = [each for run in runs for each in run.pieces(schedule.held_prompt(run.prompt))]
    _, begins, ends, constants, slopes = np.array(pieces, dtype=np.int64).T
    # What a piece holds at time t is held at the end of round t - 1.
    constant, slope = (
        np.cumsum(_sums(begins, each, count + 2) - _sums(ends, each, count + 2))[1 : count + 1]
        for each in (constants, slopes)
    )
    held: Ints = constant + slope * np.arange(1, count + 1)
    return held


def _sums(places: Ints, values: Ints, count: int) -> Ints:
    """Return the sum of the values at each of the places 0..count - 1."""
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, places, values)
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
        return np.array([model.time_of(*batch) for batch in batches], dtype=np.int64)
    picoseconds = np.full(len(read), model.base, dtype=np.int64)
    for each, values in zip(model.coefficients[1:], sums, strict=True):
        picoseconds += each * values
    return np.maximum(1, -(-picoseconds // 1000))


def _gaps(of_requests: Iterable[Iterable[RequestRun]], ends: Ints) -> tuple[Ints, Ints]:
    """Return the times between two tokens of a request, and how often each occurs.

    Tokens of a run that are not kept by the next one are made again, and count there.
    """
    changes = np.zeros(len(ends) + 1, dtype=np.int64)
    more: list[int] = []
    for runs in of_requests:
        left, following = None, 0
        for run in reversed([*runs]):
            if left is None:
                left = run.kept + run.made
            elif run.kept >= left:
                continue
            else:
                more.append(int(ends[following]) - int(ends[run.last_chunk + left - run.kept - 1]))
            # Token kept + 1 is made at the end of round last_chunk, and one a round behind it.
            changes[run.last_chunk + 1] += 1
            changes[run.last_chunk + left - run.kept] -= 1
            left, following = run.kept, run.last_chunk
    counts, gaps = np.cumsum(changes[:-1]), np.diff(ends, prepend=0)
    some = counts > 0
    return (
        np.concatenate((gaps[some], np.array(more, dtype=np.int64))),
        np.concatenate((counts[some], np.ones(len(more), dtype=np.int64))),
    )
