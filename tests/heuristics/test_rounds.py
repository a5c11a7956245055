"""The driver: the order of a round, bad rules, endless loops, clocks."""

from collections.abc import Callable
from typing import Any

import pytest

from heuristics.policy import Rules, State
from heuristics.round_driver import EndlessLoopError, PolicyError, RoundTrace, drive
from heuristics.round_driver import UninterruptedRun as Run
from instances.batch_time import NANOSECONDS, BatchTime, parse_batch_time

#: Rounds of 1 s and 0.5 s a token, of 0.5 s and 0.25 s a token, and of 1 s.
SLOW, FAST, UNIT = map(parse_batch_time, ("affine(1000,500)", "affine(500,250)", "unit"))


class Fake(Rules):
    """Rules of a test, which start and evict as its functions say."""

    def __init__(
        self,
        admit: Callable[[list[int], State], list[int]],
        evict: Callable[[State], list[int]] = lambda _: [],
        fingerprint: object = (),
    ) -> None:
        self._admit = admit
        self._evict = evict
        self._fingerprint = fingerprint
        self.waiting: list[int] = []
        self.calls: list[tuple[str, int]] = []

    def arrive(self, request: int) -> None:
        self.calls.append(("arrive", request))
        self.waiting.append(request)

    def finish(self, request: int, output: int) -> None:
        del output
        self.calls.append(("finish", request))

    def evict(self, state: State) -> list[int]:
        self.calls.append(("evict", state.now))
        evicted = self._evict(state)
        self.waiting += evicted
        return evicted

    def admit(self, state: State) -> list[int]:
        self.calls.append(("admit", state.now))
        admitted = self._admit(self.waiting, state)
        self.waiting = [i for i in self.waiting if i not in admitted]
        return admitted

    def fingerprint(self) -> object:
        return self._fingerprint


class Reviewing(Fake):
    """Also evicts at planned rounds, whatever the memory."""

    def __init__(self, plan: list[int], evict: Callable[[State], list[int]]) -> None:
        super().__init__(everything, evict)
        self._plan = plan

    def next_eviction(self, state: State) -> int | None:
        return next((due for due in self._plan if due >= state.now), None)


def everything(waiting: list[int], state: State) -> list[int]:
    del state
    return list(waiting)


def evict_the_last() -> Fake:
    """Start all that waits on an empty worker, evict the last of them on overflow."""
    return Fake(
        lambda waiting, state: list(waiting) if not state.starts else [],
        lambda state: list(state.starts)[-1:],
    )


def run_fake(
    rules: Fake,
    requests: list[tuple[float, int, int]],
    memory: int = 10,
    batch_time: BatchTime | None = None,
    **more: Any,
) -> RoundTrace:
    """Drive rules over (arrival, prompt, output) of each request, arrivals in rounds or seconds."""
    arrivals, prompts, outputs = zip(*requests, strict=True)
    ticks = 1 if batch_time is None else NANOSECONDS
    times = [round(arrival * ticks) for arrival in arrivals]
    return drive("fake", rules, times, prompts, outputs, memory, batch_time=batch_time, **more)


def seconds(times: list[int]) -> list[float]:
    """Return nanoseconds in seconds."""
    return [time / NANOSECONDS for time in times]


def test_order_of_a_round() -> None:
    """Completions come before arrivals, those before admissions, all in the same round."""
    rules = Fake(lambda waiting, state: [] if state.starts else waiting[:1])
    run_fake(rules, [(0, 1, 2), (2, 1, 1)])
    assert rules.calls == [
        ("arrive", 0),
        ("admit", 0),
        ("finish", 0),
        ("arrive", 1),
        ("admit", 2),
        ("finish", 1),
    ]


def test_eviction_on_overflow_by_hand() -> None:
    """M = 6, two of (1, 3): 2 + 2, 3 + 3, then 8 would be held, so one is evicted at round 2."""
    rules = evict_the_last()
    trace = run_fake(rules, [(0, 1, 3), (0, 1, 3)], memory=6)
    assert ("evict", 2) in rules.calls
    assert trace.segments == [[Run(0, 1, 3)], [Run(0, 1, 2), Run(3, 1, 3)]]
    assert trace.completions == [3, 6]


def test_kept_tokens_by_hand() -> None:
    """The same with tokens kept: two of three are there, so one round after 3 remains."""
    trace = run_fake(evict_the_last(), [(0, 1, 3), (0, 1, 3)], memory=6, keeps_tokens=True)
    assert trace.segments[1] == [Run(0, 1, 2), Run(3, 3, 3)]
    assert trace.completions == [3, 4]


def test_planned_eviction_without_overflow() -> None:
    """Rules that plan an eviction are asked in that round, though nothing else happens then."""
    # At 2 it evicts nothing.
    rules = Reviewing([2, 4], lambda state: [0] if state.now == 4 else [])
    trace = run_fake(rules, [(0, 0, 7)])
    # Four tokens are lost; the new run begins in the round of the eviction.
    assert trace.segments == [[Run(0, 1, 4), Run(4, 1, 7)]]
    assert [call for call in rules.calls if call[0] == "evict"] == [("evict", 2), ("evict", 4)]


@pytest.mark.parametrize(
    ("rules", "requests", "message"),
    [
        (Fake(lambda *_: [1]), [(0, 1, 1), (5, 1, 1)], "starts request 1, which does not wait"),
        (Fake(lambda *_: [0, 0]), [(0, 1, 1)], "starts request 0, which does not wait"),
        (Fake(lambda *_: [0]), [(0, 1, 3), (1, 1, 1)], "starts request 0, which does not wait"),
        (Fake(everything), [(0, 5, 2), (0, 4, 2)], "exceeds the memory at time 1"),
        (Fake(lambda *_: []), [(0, 1, 1)], "starts nothing although nothing runs"),
        (
            Fake(everything, lambda _: [1]),
            [(0, 3, 3), (9, 1, 1), (0, 3, 3)],
            "evicts request 1, which does not run",
        ),
        (Fake(everything, lambda _: [0, 0]), [(0, 3, 3), (0, 3, 3)], "evicts request 0, which"),
        (
            Fake(everything),
            [(0, 3, 3), (0, 3, 3)],
            "evicts nothing although 12 tokens would be held at time 3, memory is 10",
        ),
    ],
)
@pytest.mark.parametrize("batch_time", [None, SLOW])
def test_bad_rules_are_named(
    rules: Fake, requests: list[tuple[float, int, int]], message: str, batch_time: BatchTime | None
) -> None:
    """Whatever cannot be done is refused with policy, request and round, in real time too."""
    rules.waiting.clear()
    with pytest.raises(PolicyError, match=f"^fake .*{message}"):
        run_fake(rules, requests, batch_time=batch_time)


def clear_everything() -> Fake:
    """Start all that fits at the next time, clear all on overflow: two of (1, 4) never end."""
    return Fake(
        lambda waiting, state: sorted(waiting) if not state.starts else [],
        lambda state: list(state.starts),
    )


@pytest.mark.parametrize("batch_time", [None, FAST])
def test_an_endless_loop_is_found(batch_time: BatchTime | None) -> None:
    """Both fill M = 8 at time 3 and are cleared at round 3; the state of round 6 is the same."""
    with pytest.raises(EndlessLoopError, match="policy fake loops for ever: at round 6") as caught:
        run_fake(clear_everything(), [(0, 1, 4), (0, 1, 4)], memory=8, batch_time=batch_time)
    assert caught.value.round_of_repeat == 6
    assert "0 of 2 requests finished" in str(caught.value)


def test_no_loop_while_arrivals_are_to_come() -> None:
    """A repetition before the last arrival proves nothing: the arrival may end it."""
    # At round 20 the third arrives and, being alone in what is started, lets the others pass.
    rules = Fake(
        lambda waiting, state: (
            []
            if state.starts
            else (sorted(waiting) if len(waiting) < 3 and state.now < 20 else waiting[:1])
        ),
        lambda state: list(state.starts),
    )
    trace = run_fake(rules, [(0, 1, 4), (0, 1, 4), (20, 1, 1)], memory=8)
    assert min(trace.completions) > 20
    assert len(trace.segments[0]) > 2


@pytest.mark.parametrize("random", [False, True])
def test_rules_that_change_are_not_called_endless(random: bool) -> None:
    """The memory of rules is part of the state; those without a fingerprint may be random."""
    cleared: list[int] = []

    def evict(state: State) -> list[int]:
        cleared.append(state.now)
        return list(state.starts)

    rules = Fake(
        lambda waiting, state: (
            [] if state.starts else sorted(waiting) if len(cleared) < 4 else waiting[:1]
        ),
        evict,
    )
    rules.fingerprint = lambda: None if random else len(cleared)  # type: ignore[method-assign]
    trace = run_fake(rules, [(0, 1, 4), (0, 1, 4)], memory=8)
    assert [len(segments) for segments in trace.segments] == [5, 5]


def test_affine_batch_time_by_hand() -> None:
    """τ = 1 + 0.5·tokens: two requests, the second arrives within a round and waits for its end."""
    # Round 0 begins at 0.0 and prefills 2 tokens: 1 + 1.0, so round 1 begins at 2.0.
    # Round 1 decodes one: 1.5, so round 2 begins at 3.5; request 1 (arrival 2.5) is first seen
    # there.  Round 2 decodes one and prefills 4: 1 + 2.5, so round 3 begins at 7.0, where request
    # 0 (three tokens) completes.  Round 3 decodes request 1: 1.5, it completes at 8.5.
    trace = run_fake(Fake(everything), [(0.0, 2, 3), (2.5, 4, 2)], memory=20, batch_time=SLOW)
    assert seconds(trace.begins) == [0.0, 3.5]
    assert seconds(trace.completions) == [7.0, 8.5]
    assert trace.gaps == []
    assert trace.segments == [[Run(0, 1, 3)], [Run(2, 1, 2)]]
    # A request is visible to the round that begins exactly at its arrival.
    trace = run_fake(Fake(everything), [(0.0, 2, 3), (2.0, 4, 2)], memory=20, batch_time=SLOW)
    assert seconds(trace.begins) == [0.0, 2.0]


def test_an_idle_worker_waits_for_the_next_arrival() -> None:
    """In real time an empty worker begins its next round when a request arrives, at any time."""
    # In unit rounds too, where arrivals are integers.
    for arrivals, batch_time in (((0.25, 7.75), UNIT), ((1, 8), UNIT), ((1, 8), None)):
        requests = [(arrival, 0, 1) for arrival in arrivals]
        trace = run_fake(Fake(everything), requests, batch_time=batch_time)
        ticks = 1 if batch_time is None else NANOSECONDS
        assert trace.begins == [arrival * ticks for arrival in arrivals]
        assert trace.completions == [(arrival + 1) * ticks for arrival in arrivals]
        # Rounds 0 and 1 begin late; in unit rounds there is nothing to say.
        assert trace.gaps == ([] if batch_time is None else list(enumerate(trace.begins)))
        # So where rules hold back what waits until something arrives.
        holding = Fake(lambda waiting, state: waiting if len(waiting) == 2 or state.starts else [])
        trace = run_fake(holding, [(0, 1, 2), (5, 1, 2)], batch_time=batch_time)
        assert (trace.begins, trace.completions) == ([5 * ticks] * 2, [7 * ticks] * 2)


def test_prompts_are_prefilled_again_with_kept_tokens() -> None:
    """A preempted request pays for its prompt and what it kept in the first round after."""
    rules = evict_the_last()
    # Each sum that a batch has shows up at decimal places of its own (nanoseconds).
    model = parse_batch_time("linear(base=10,prefill=0.1,square=0.001,decode=1,read=0.00001)")
    trace = run_fake(rules, [(0, 1, 3), (0, 1, 3)], memory=6, batch_time=model, keeps_tokens=True)
    # Rounds 0 to 2, then request 1 comes back with 1 prompt token and the 2 it made.
    batches = [((1, 1), 0, 0), ((), 2, 4), ((), 1, 3), ((3,), 0, 0)]
    taken = [
        10_000_000
        + 100_000 * sum(prefills)
        + 1_000 * sum(each**2 for each in prefills)
        + 1_000_000 * decoding
        + 10 * read
        for prefills, decoding, read in batches
    ]
    assert trace.completions == [sum(taken[:3]), sum(taken)]
    assert trace.begins[1] == sum(taken[:3])
