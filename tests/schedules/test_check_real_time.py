"""The checker on schedules in real time: what policies make is valid, and no mutation of it is."""

import dataclasses
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from instances.batch_time import parse_batch_time
from schedules import Clock, Schedule, make_schedule
from schedules.check import check_schedule
from schedules.clock import replay_schedule
from schedules.schedule_files import parse_schedule, schedule_document
from tests.oracles.draws import instance_of

SLOW = parse_batch_time("affine(1000,500)")


make = partial(instance_of, time_unit="second")


def schedule_of(instance: Instance, starts: list[int], tel: float, **changes: Any) -> Schedule:
    """Return a schedule with its TEL in seconds; what belongs to the clock goes there."""
    names = {each.name for each in dataclasses.fields(Clock)}
    clock = {"batch_time": SLOW.name} | {k: v for k, v in changes.items() if k in names}
    others = {k: v for k, v in changes.items() if k not in names}
    return make_schedule(
        instance, starts, "by hand", clock=Clock(**clock), tel=round(tel * 10**9), **others
    )


# Two requests, of 2 and 4 prompt tokens, 3 and 2 output tokens; a round takes 1 s and 0.5 s a
# token.  Round 0 (prefill 2): 0–2.  Round 1 (decode): 2–3.5.  Round 2 (decode, prefill 4): 3.5–7,
# where the first completes.  Round 3 (decode): 7–8.5.  The second arrived at 2.5.
TWO = make(20, (0, 2, 3), (2.5, 4, 2))
TWO_TEL = 7 + 8.5 - 2.5
# The same requests, the second cut into chunks of 1 and 3: round 1 decodes and prefills 1, but the
# second has not arrived by 2; cut in rounds 2 and 3 instead.  Round 2 (decode, prefill 1): 3.5–5.5,
# round 3 (prefill 3): 5.5–8, round 4 (decode): 8–9.5.
CUT_TEL = 5.5 + 9.5 - 2.5
CUT: dict[str, Any] = {"prefills": (((2,),), ((1, 3),))}


def test_rounds_and_tel_by_hand() -> None:
    """The example above, with its chunks and without."""
    verdict = check_schedule(TWO, schedule_of(TWO, [0, 2], TWO_TEL))
    assert str(verdict) == "valid: instance 'made', n=2, TEL 13000000000 ns"
    assert check_schedule(TWO, schedule_of(TWO, [0, 3], CUT_TEL, **CUT)).valid
    tel = round(TWO_TEL * 10**9)
    above = schedule_of(TWO, [0, 2], TWO_TEL, lower_bound=tel + 1)
    assert check_schedule(TWO, above).kind == "malformed"
    assert check_schedule(TWO, schedule_of(TWO, [0, 2], TWO_TEL, lower_bound=tel)).valid
    # Two rounds of 1 s that begin late, at the arrival or after it.
    idle = make(9, (0.5, 0, 1), (7.25, 0, 1))
    for second in (7.25, 8.0):
        begins = ((0, 500_000_000), (1, round(second * 10**9)))
        assert check_schedule(idle, schedule_of(idle, [0, 1], second - 5.25, begins=begins)).valid


@pytest.mark.parametrize(
    ("memory", "cached", "tel", "stated"),
    [
        (6, 2, 13.5, "goes on from tokens without prefilling them again"),
        (7, 3, 13.0, "goes on from tokens without prefilling them again"),
        (6, 3, 13.0, "at time 2, 7 tokens are held, memory is 6"),
        (7, 3, 13.5, "TEL is 13000000000"),
        (9, 4, 12.5, "finds 4 tokens, more than were computed before"),
    ],
)
def test_cached_tokens_by_hand(memory: int, cached: int, tel: float, stated: str) -> None:
    """What a run finds need not be prefilled, was computed, and is held in between."""
    # Round 0 prefills the first request, 0-2.5; round 1 the second, 2.5-5, while the first has made
    # a token and is gone.  Round 2 prefills 3 + 1 - cached, round 3 decodes.
    instance = make(memory, (0, 3, 3), (0, 3, 1))
    runs: dict[str, Any] = {"attempts": [[(0, 1)], []], "kept": [[0, 1], [0]]}
    schedule = schedule_of(instance, [1, 1], tel, cached=((0, cached), (0,)), **runs)
    assert stated in check_schedule(instance, schedule).reason
    assert parse_schedule(schedule_document(schedule)) == schedule
    shapeless = schedule_of(instance, [1, 1], tel, cached=((0,), (0,)), **runs)
    assert check_schedule(instance, shapeless).kind == "malformed"


def test_times_of_a_request_by_hand() -> None:
    """Begin, first token and completion; an eviction costs what was prefilled and made."""
    second = replay_schedule(TWO, schedule_of(TWO, [0, 2], TWO_TEL)).requests[1]
    assert [each / 1e9 for each in second[:4]] == [2.5, 3.5, 7, 8.5]
    cut = replay_schedule(TWO, schedule_of(TWO, [0, 3], CUT_TEL, **CUT)).requests[1]
    assert [each / 1e9 for each in cut[:4]] == [2.5, 3.5, 8, 9.5]
    # Evicted after one token, prefilled again with it: 4 + 1 of 5 and 1 are made twice.
    # The run begins in round 3, so its start without what it kept is round 2.
    kept = schedule_of(TWO, [0, 2], 0, attempts=[[], [(2, 1)]], kept=[[0], [0, 1]])
    times = replay_schedule(TWO, kept).requests[1]
    assert (times.evictions, times.recomputed) == (1, 4 + 1)
    assert times.first_token == 7 * 10**9
    lost = schedule_of(TWO, [0, 3], 0, attempts=[[], [(2, 1)]])
    times = replay_schedule(TWO, lost).requests[1]
    # The token is lost: the first that it is left with is made in round 3 (prefill 4): 7–10.
    assert (times.recomputed, times.first_token) == (4 + 1, 10 * 10**9)


@pytest.mark.parametrize(
    ("starts", "changes", "kind", "words"),
    [
        ([0, 2], {"batch_time": "fast"}, "malformed", "unknown batch time 'fast'"),
        ([0, 2], {"batch_time": "fitted(x.csv)"}, "malformed", "names a file"),
        ([0, 2], {"batch_time": "affine(1000,501)"}, "malformed", "TEL is"),
        ([0, 1], {}, "infeasible", "before its arrival at 2500000000 ns"),
        ([1, 2], {}, "malformed", "round 0 has no batch"),
        ([0, 9], {}, "malformed", "round 3 has no batch"),
        ([0, 10**30], {}, "malformed", "round 3 has no batch"),
        ([0, 10**4000], {}, "malformed", "round 3 has no batch"),
        ([0, 3], {}, "malformed", "TEL is"),
        ([0, 2], {"begins": ((1, 1),)}, "infeasible", "expected later than 2000000000 ns"),
        ([0, 2], {"begins": ((1, 2 * 10**9),)}, "infeasible", "expected later than"),
        ([0, 2], {"begins": ((1, 2 * 10**9 + 1),)}, "malformed", "TEL is"),
        ([0, 2], {"begins": ((0, 0),)}, "infeasible", "expected later than 0 ns"),
        ([0, 2], {"begins": ((4, 10**12),)}, "malformed", "round 4 has no batch"),
        ([0, 2], {"begins": ((10**50, 10**50),)}, "malformed", "no batch"),
        ([0, 2], {"begins": ((2, 10**11), (1, 10**10))}, "malformed", "ascending order"),
        ([0, 2], {"begins": ((1, 10**10), (1, 10**11))}, "malformed", "ascending order"),
        ([0, 3], {"prefills": (((2,),),)}, "malformed", "expected 2 lists of chunks"),
        ([0, 3], {"prefills": (((2,),), ())}, "malformed", "expected chunks of 1 runs, found 0"),
        ([0, 3], {"prefills": (((2,),), ((),))}, "malformed", "a run without any"),
        ([0, 3], {"prefills": (((2,),), ((4,), (4,)))}, "malformed", "chunks of 1 runs, found 2"),
        ([0, 3], {"prefills": (((2,),), ((1, 2),))}, "malformed", "prefills 3 of 4 tokens"),
        ([0, 3], {"prefills": (((2,),), ((1, 4),))}, "malformed", "prefills 5 of 4 tokens"),
        ([0, 3], {"prefills": (((2,),), ((4, 0),))}, "malformed", "at least 1 token, found 0"),
        ([0, 3], {"prefills": (((2,),), ((1, 1, 2),))}, "infeasible", "before its arrival"),
        ([0, 1], {"prefills": (((2,),), ((1, 1, 2),))}, "malformed", "too many before it"),
        ([0, 3], {"prefills": (((2,),), ((3, 1),))}, "malformed", "TEL is"),
    ],
)
def test_what_is_wrong_gets_a_verdict(
    starts: list[int], changes: dict[str, Any], kind: str, words: str
) -> None:
    """Whatever a file claims, the answer is a line and no exception."""
    tel = CUT_TEL if "prefills" in changes else TWO_TEL
    verdict = check_schedule(TWO, schedule_of(TWO, starts, tel, **changes))
    assert verdict.kind == kind
    assert words in verdict.reason
    assert "\n" not in verdict.reason


def test_chunks_count_for_the_memory() -> None:
    """M = 9: at time 3 the first holds 2 + 3, and what is computed of the second 4 at most."""
    instance = make(9, (0, 2, 3), (2.5, 6, 1))
    chunks = {"prefills": (((2,),), ((5, 1),))}
    verdict = check_schedule(instance, schedule_of(instance, [0, 3], 0, **chunks))
    assert (verdict.kind, verdict.time, verdict.tokens) == ("infeasible", 3, 10)
    assert verdict.request_ids == (0, 1)
    fits = {"prefills": (((2,),), ((4, 2),))}
    # Round 2 (decode, prefill 4): 3.5–7, round 3 (prefill 2): 7–9.
    assert check_schedule(instance, schedule_of(instance, [0, 3], 7 + 9 - 2.5, **fits)).valid


def test_an_attempt_cancelled_on_its_way_makes_no_token() -> None:
    """The second is cancelled after a chunk in round 2 and starts anew in round 3."""
    chunks = {"prefills": (((2,),), ((1,), (4,)))}
    # Round 2 (decode, prefill 1): 3.5–5.5; round 3 (prefill 4): 5.5–8.5; round 4: 8.5–10.
    made = schedule_of(TWO, [0, 3], 5.5 + 10 - 2.5, attempts=[[], [(2, 0)]], **chunks)
    assert check_schedule(TWO, made).valid
    assert replay_schedule(TWO, made).requests[1].recomputed == 1
    assert parse_schedule(schedule_document(made)) == made
    overlapping = schedule_of(TWO, [0, 2], 0, attempts=[[], [(2, 0)]], **chunks)
    assert "before its previous attempt ends" in check_schedule(TWO, overlapping).reason
    with pytest.raises(ValueError, match="at least 1 token where no prompt is cut"):
        schedule_of(TWO, [0, 3], 0, attempts=[[], [(2, 0)]])
    whole = {"prefills": (((2,),), ((4,), (4,)))}
    stated = schedule_of(TWO, [0, 3], 0, attempts=[[], [(2, 0)]], **whole)
    assert "makes 0" in check_schedule(TWO, stated).reason


def test_a_clock_is_for_instances_in_seconds() -> None:
    """Each without the other is refused."""
    rounds = dataclasses.replace(make(20, (0, 2, 3), (2, 4, 2)), time_unit="round")
    plain = make_schedule(rounds, [0, 2], "by hand")
    clocked = dataclasses.replace(plain, clock=Clock("unit"))
    assert "arrivals in rounds, found a clock" in check_schedule(rounds, clocked).reason
    timed = dataclasses.replace(rounds, time_unit="second")
    assert "arrivals in seconds, found no clock" in check_schedule(timed, plain).reason
    assert check_schedule(timed, dataclasses.replace(clocked, tel=plain.tel * 10**9)).valid


def _mutations(schedule: Schedule, rng: np.random.Generator) -> Iterator[tuple[str, Schedule]]:
    """Yield schedules of which each makes another claim than the one given."""
    clock = schedule.clock
    assert clock is not None

    def clocked(**changes: Any) -> Schedule:
        return dataclasses.replace(schedule, clock=dataclasses.replace(clock, **changes))

    for step in (-1, 1):
        yield "tel", dataclasses.replace(schedule, tel=max(0, schedule.tel + step))
    starts = list(schedule.starts)
    i = int(rng.integers(len(starts)))
    for step in (-1, 1):
        moved = [max(0, each + step * (k == i)) for k, each in enumerate(starts)]
        yield "start", dataclasses.replace(schedule, starts=tuple(moved))
    if clock.begins:
        # The last one: what comes after an earlier one may be put right by the next.
        *others, (number, begin) = clock.begins
        yield "gap left out", clocked(begins=tuple(others))
        for step in (-1, 1):
            yield "gap moved", clocked(begins=(*others, (number, max(0, begin + step))))
        yield "gap in another round", clocked(begins=(*others, (number + 1, begin)))
    if clock.prefills is not None:
        cut = [i for i, each in enumerate(clock.prefills) if len(each[-1]) > 1]
        for i in cut[:1]:
            first, second, *rest = clock.prefills[i][-1]
            for chunks in ((first, second + 1, *rest), (second, *rest), (first, second, *rest, 1)):
                runs = (*clock.prefills[i][:-1], chunks)
                prefills = (*clock.prefills[:i], runs, *clock.prefills[i + 1 :])
                yield "chunk", clocked(prefills=prefills)
    if schedule.attempts is not None:
        yield "attempts left out", dataclasses.replace(schedule, attempts=None)
    if schedule.kept is not None:
        yield "kept left out", dataclasses.replace(schedule, kept=None)


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "mc-sf": ("mc-sf", {}),
    "alpha-beta": ("alpha-beta", {"alpha": 0.5, "beta": 0.5}),
    "vllm": ("vllm-v1", {"accounting": "tokens"}),
    "vllm in chunks": ("vllm-v1", {"accounting": "tokens", "budget": 4}),
    "sglang in chunks": ("sglang-ratio", {"chunk": 3, "conservativeness": 0.1}),
    "stalling": ("alpha-beta", {"stall": "yes", "alpha": 0.5, "beta": 0.5}),
}


def _drawn(rng: np.random.Generator) -> Instance:
    memory = int(rng.integers(4, 20))
    requests = []
    for _ in range(int(rng.integers(2, 8))):
        output = int(rng.integers(1, memory + 1))
        prompt = int(rng.integers(0, memory - output + 1))
        requests.append((float(rng.choice([0, 0, 3.5, 40, 41.25])), prompt, output))
    return make(memory, *requests)


@pytest.mark.parametrize("name", METHODS)
def test_mutations_are_refused(name: str) -> None:
    """A start, a gap, a chunk, a token kept, an attempt or the TEL stated wrongly is found."""
    # Prompts and outputs count in the batch time, so no two of these have the same times: a TEL
    # that is still right would need two errors that cancel out, and the numbers are prime for that.
    policy, values = METHODS[name]
    model = parse_batch_time("linear(1.000003,0.100019,0.010037,0.500057,0.020023)")
    refused: set[str] = set()
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        instance = _drawn(rng)
        defaults = {each.name: each.default for each in policies()[policy].parameters}
        setting = RunSetting(values=defaults | values, seed=seed, batch_time=model)
        schedule = run_policy(policies()[policy], instance, setting)
        verdict = check_schedule(instance, schedule)
        assert verdict.valid, verdict.reason
        for what, mutated in _mutations(schedule, rng):
            # A later gap may take up what an attempt took, where rounds are stalled.
            absorbed = what == "attempts left out" and name == "stalling"
            if mutated == schedule or absorbed:
                continue
            assert not check_schedule(instance, mutated).valid, (what, seed)
            refused.add(what)
    assert {"tel", "start", "gap left out", "gap moved", "gap in another round"} <= refused
    assert ("chunk" in refused) == ("in chunks" in name)
    evicts = name in ("alpha-beta", "vllm", "vllm in chunks")
    assert ("attempts left out" in refused) or not evicts


def test_long_outputs_take_no_longer() -> None:
    """Rounds in which nothing changes are summed, not walked through, and to the digit."""
    model = parse_batch_time("linear(base=0.000001,decode=0.000000003,read=0.000000007)")
    found = []
    for outputs in ((700, 2100, 5), (10**9 - 3, 10**9 - 9, 10**6)):
        instance = make(10**9, *((0, i, o) for i, o in enumerate(outputs)))
        setting = RunSetting(batch_time=model)
        schedule = run_policy(policies()["fcfs"], instance, setting)
        began = time.process_time()
        assert check_schedule(instance, schedule).valid
        assert time.process_time() - began < 1
        found.append((instance, schedule))
    # The short one round by round: in round r request i reads i + r − its start.
    instance, schedule = found[0]
    ends, now = [], 0
    runs = list(zip(schedule.starts, instance.requests, strict=True))
    for r in range(2100):
        reads = [q.prompt + r - p for p, q in runs if p < r < p + q.output]
        now += max(1, -(-(1000 + 3 * len(reads) + 7 * sum(reads)) // 1000))
        ends.append(now)
    assert schedule.tel == sum(ends[p + q.output - 1] for p, q in runs)


def test_a_known_optimum_in_seconds_says_nothing() -> None:
    """It would depend on the batch time, so what a file states is never looked at."""
    instance = make(9, (0, 1, 2))
    stated = dataclasses.replace(instance, known_optimum=10**12, known_optimum_reason="stated")
    # A round of 1,000 and 500 ms for the prompt, and the same for the second token.
    verdict = check_schedule(stated, schedule_of(stated, [0], 3.0, lower_bound=3 * 10**9))
    assert verdict.valid
    assert "known optimum" not in verdict.reason
