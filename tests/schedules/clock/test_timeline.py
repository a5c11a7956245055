"""When everything happened: by hand, token by token, and as the checker has it."""

from functools import partial

import numpy as np
import pytest

from instances import Instance, Request
from schedules import Schedule
from schedules.clock.replay import ReplayError
from schedules.clock.timeline import Timeline, make_timeline
from schedules.schedule import Clock
from tests.oracles.draws import instance_of
from tests.schedules.clock.literal import LiteralTimes, drawn, literal

MS = 10**6


in_seconds = partial(instance_of, 100, time_unit="second")


def scheduled(
    instance: Instance, clock: Clock | None, starts: tuple[int, ...], **more: object
) -> Schedule:
    """Return a schedule whose claims nobody looks at."""
    given = instance.name, instance.sha256, "by hand", starts, 0, None
    return Schedule(*given, "feasible", clock=clock, **more)  # type: ignore[arg-type]


def with_kept_tokens() -> Timeline:
    """Return two requests, one evicted with 2 tokens in round 2 and prefilled anew in round 3."""
    # Rounds: 12, 11, 10, 14 (prompt 2 and 2 kept), 10 ms; so they end at 12, 23, 33, 47 and 57.
    # First: arrival 0, tokens at 12, 23, 47, 57 ms, prompt 2; second: arrival 0, tokens at 23, 33,
    # 47 ms, prompt 1.
    instance = in_seconds((0, 2, 4), (0, 1, 3))
    clock = Clock("linear(base=10,prefill=1)")
    kept = {"attempts": (((0, 2),), ()), "kept": ((0, 2), (0,))}
    return make_timeline(instance, scheduled(instance, clock, (1, 1), **kept))


def test_kept_tokens_by_hand() -> None:
    """The times above, what is held and waits, and what is prefilled again."""
    found = with_kept_tokens()
    assert (found.rounds.ends // MS).tolist() == [12, 23, 33, 47, 57]
    assert (found.first_tokens // MS).tolist() == [12, 23]
    assert (found.completions // MS).tolist() == [57, 47]
    assert (found.begins // MS).tolist() == [0, 12]
    assert found.evictions.tolist() == [1, 0]
    # The prompt and both kept tokens are prefilled again; no output token is made twice.
    assert found.recomputed.tolist() == [4, 0]
    assert found.rounds.waiting.tolist() == [1, 0, 1, 0, 0]
    assert found.rounds.tokens.tolist() == [3, 4 + 2, 3, 5 + 4, 6]
    # First: 12, 23, 47, 57; second: 23, 33, 47.
    gaps = np.repeat(found.gaps // MS, found.gap_counts)
    assert sorted(gaps.tolist()) == [10, 10, 11, 14, 24]


def _possible(instance: Instance, schedule: Schedule, expected: LiteralTimes) -> bool:
    assert schedule.clock is not None
    early = [
        (number and begin <= expected.ends[number - 1]) or begin <= 0
        for number, begin in schedule.clock.begins
        if number < len(expected.begins)
    ]
    arrived = [round(request.arrival * 10**9) for request in instance.requests]
    idle = len(expected.begins) <= max((number for number, _ in schedule.clock.begins), default=0)
    ran = [begin >= arrived[i] for i, begin in expected.first_ran.items()]
    return not any(early) and not idle and 0 not in expected.running and all(ran)


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_as_token_by_token(first: int) -> None:
    """Evictions with kept and lost tokens, chunks, late rounds: every figure is the literal one."""
    # What is replayed is possible: no round begins early, no run before its request has arrived.
    possible = 0
    for seed in range(first, first + 100):
        instance, schedule = drawn(seed)
        expected = literal(instance, schedule)
        try:
            found = make_timeline(instance, schedule)
        except ReplayError:
            assert not _possible(instance, schedule, expected), seed
            continue
        assert _possible(instance, schedule, expected), seed
        possible += 1
        rounds = found.rounds
        assert rounds.begins.tolist() == expected.begins, seed
        assert rounds.ends.tolist() == expected.ends, seed
        assert rounds.running.tolist() == expected.running, seed
        assert rounds.waiting.tolist() == expected.waiting, seed
        assert rounds.tokens.tolist() == expected.tokens, seed
        times = [expected.token_times[i] for i in range(len(instance))]
        assert found.begins.tolist() == [expected.first_ran[i] for i in range(len(instance))], seed
        assert found.first_tokens.tolist() == [each[1] for each in times], seed
        last = [each[r.output] for each, r in zip(times, instance.requests, strict=True)]
        assert found.completions.tolist() == last, seed
        gaps = [each[k + 1] - each[k] for each in times for k in range(1, len(each))]
        assert sorted(np.repeat(found.gaps, found.gap_counts).tolist()) == sorted(gaps), seed
        again = [
            expected.computed[i] - r.prompt - r.output for i, r in enumerate(instance.requests)
        ]
        assert found.recomputed.tolist() == again, seed
    assert possible > 30


def test_sums_beyond_64_bits() -> None:
    """10^12 (a prompt of 10^6, squared) at 5 ms are 5 · 10^21 ps, more than 64 bits hold."""
    instance = Instance("huge", 10**9, (Request(0, 0, 10**6, 1),), time_unit="second")
    found = make_timeline(instance, scheduled(instance, Clock("linear(square=5)"), (0,)))
    assert found.completions.tolist() == [5 * 10**18]
    with pytest.raises(ValueError, match="more nanoseconds than 64 bits hold"):
        make_timeline(instance, scheduled(instance, Clock("linear(square=50)"), (0,)))


@pytest.mark.parametrize(
    ("begin", "batch_time"), [(4 * 10**18, "linear(square=1000000000)"), (10**19, "unit")]
)
def test_times_beyond_64_bits(begin: int, batch_time: str) -> None:
    """4 · 10^18 ns and a round of 77² · 10^15, or 10^19 ns before the round, are beyond 2^63."""
    instance = Instance("late", 10**9, (Request(0, 4 * 10**9, 77, 1),), time_unit="second")
    with pytest.raises(ValueError, match="more nanoseconds than 64 bits hold"):
        make_timeline(instance, scheduled(instance, Clock(batch_time, ((0, begin),)), (0,)))


def test_more_rounds_than_memory_holds() -> None:
    """10^9 rounds of one request are refused before anything is allocated for them."""
    instance = Instance("long", 10**9, (Request(0, 0, 1, 10**9 - 1),), time_unit="second")
    with pytest.raises(ValueError, match="expected at most 20,000,000 rounds, found 999,999,999"):
        make_timeline(instance, scheduled(instance, Clock("unit"), (0,)))


def test_what_has_no_timeline() -> None:
    """A schedule without clock, an instance in rounds, and rounds in which nothing runs."""
    instance = in_seconds((0, 1, 2))
    clock = Clock("unit")
    with pytest.raises(ValueError, match="expected a schedule with a clock"):
        make_timeline(instance, scheduled(instance, None, (0,)))
    with pytest.raises(ValueError, match="round 0 has no batch"):
        make_timeline(instance, scheduled(instance, clock, (10**12,)))
    rounds = Instance("rounds", 9, (Request(0, 0, 1, 1),))
    with pytest.raises(ValueError, match="arrivals in rounds"):
        make_timeline(rounds, scheduled(rounds, clock, (0,)))
