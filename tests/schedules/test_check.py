"""The checker by hand; ``test_check_attack`` holds it against a second one on drawn schedules."""

import dataclasses
import time
from typing import Any

import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request
from schedules import Schedule, make_schedule
from schedules.check import Verdict, check_schedule
from schedules.schedule import KEEPS_TOKENS_NOTE, is_better_schedule
from schedules.schedule_files import parse_schedule, schedule_document
from schedules.schedule_metrics import memory_profile
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of


def judged(instance: Instance, starts: list[int], **fields: object) -> Verdict:
    """Check the schedule with these starts."""
    return check_schedule(instance, make_schedule(instance, starts, "test", **fields))  # type: ignore[arg-type]


# Request 0 holds 3, 4, 5 at times 1, 2, 3; request 1 holds 2, 3 in the two rounds after its start.
PAIR = instance_of(8, (0, 2, 3), (0, 1, 2))


def test_a_valid_schedule_is_summarised() -> None:
    """A valid verdict names the instance, n and the TEL, and exits with 0."""
    # Times 1, 2, 3 hold 3 + 0, 4 + 2, 5 + 3 = 8 = M.  TEL = 3 + (1 + 2) = 6.
    verdict = judged(PAIR, [0, 1])
    assert verdict.valid
    assert (verdict.kind, verdict.exit_code) == ("valid", 0)
    assert str(verdict) == "valid: instance 'made', n=2, TEL 6"
    assert (verdict.time, verdict.tokens, verdict.request_ids) == (None, None, ())


def test_memory_one_token_short_is_refused_at_the_exact_time() -> None:
    """With M = 7 the same starts overflow at time 3, and the verdict says who was active."""
    # Times 1, 2 hold 3 and 6 tokens, time 3 holds 5 + 3 = 8 > 7.
    verdict = judged(dataclasses.replace(PAIR, memory=7), [0, 1])
    assert (verdict.kind, verdict.exit_code) == ("infeasible", 21)
    assert (verdict.time, verdict.tokens, verdict.request_ids) == (3, 8, (0, 1))
    assert verdict.reason == ("at time 3, 8 tokens are held, memory is 7; active request ids: 0, 1")


@pytest.mark.parametrize(
    ("memory", "rows", "starts", "attempts", "expected"),
    [
        # Request 0 holds 3, 4, 5 at 1, 2, 3.  Started at 3, request 1 holds 5 at time 4: fits.
        (5, [(0, 2, 3), (0, 4, 1)], [0, 3], None, ""),
        # Started at 2, request 1 holds 5 at time 3 together with the 5 of request 0.
        (5, [(0, 2, 3), (0, 4, 1)], [0, 2], None, "at time 3, 10 tokens are held"),
        # At time t both hold t: 2t > 10^6 first inside a piece without events.
        (
            10**6,
            [(0, 0, 7 * 10**5), (0, 0, 9 * 10**5)],
            [0, 0],
            None,
            "time 500001, 1000002 tokens",
        ),
        (10, [(3, 1, 4)], [3], None, ""),
        (10, [(3, 1, 4)], [2], None, "id 0 starts at round 2, before its arrival at round 3"),
        (10, [(3, 1, 4)], [9], [[(2, 1)]], "starts at round 2, before its arrival"),
        # The attempt (0, 2) of request 1 holds 4, 5 at times 1, 2; request 0 holds 3, 4 there.
        (6, [(0, 2, 3), (0, 3, 3)], [0, 3], [[], [(0, 2)]], "1, 7 tokens are held, memory is 6"),
        # Request 0 holds 3, 4, 5 at 3, 4, 5, after the attempt; request 1 holds 4, 5, 6 after it.
        (6, [(0, 2, 3), (0, 3, 3)], [2, 5], [[], [(0, 2)]], ""),
        # Attempts of one request may not overlap, nor may its last run begin before they end.
        (100, [(0, 2, 5)], [5], [[(0, 2), (2, 3)]], ""),
        (100, [(0, 2, 5)], [4], [[(0, 2), (2, 3)]], "at round 4, before its previous attempt"),
        (100, [(0, 2, 5)], [9], [[(0, 3), (2, 3)]], "at round 2, before its previous attempt"),
        (100, [(0, 2, 5)], [0], [[(4, 2)]], "at round 0, before its previous attempt"),
        # An attempt of o tokens would have completed.
        (100, [(0, 2, 5)], [9], [[(0, 4)]], ""),
        (100, [(0, 2, 5)], [9], [[(0, 5)]], "request id 0: cancelled attempt at round 0"),
        # The earliest is named: 5 + 5 tokens at time 1, or a start at 19 before 20, as they come.
        (6, [(0, 4, 2), (0, 4, 2), (20, 1, 1)], [0, 0, 19], None, "at time 1, 10 tokens"),
        (6, [(0, 4, 2), (0, 4, 2), (20, 1, 1)], [50, 50, 19], None, "id 2 starts at round 19"),
        # At 0 requests 0 and 2 hold 2 + 6, then 3 + 7 = 10; at 2 request 1 holds 8, 9.
        (10, [(0, 1, 2), (0, 7, 2), (0, 5, 2)], [0, 2, 0], None, ""),
        # Exchanged, requests 1 and 2 hold 8 + 6 = 14 at time 1, and TEL is 2 + 2 + 4 both times.
        (10, [(0, 1, 2), (0, 7, 2), (0, 5, 2)], [2, 0, 0], None, "at time 1, 14 tokens are held"),
    ],
)
def test_what_can_be_run_and_what_cannot(
    memory: int,
    rows: list[tuple[int, int, int]],
    starts: list[int],
    attempts: list[list[tuple[int, int]]] | None,
    expected: str,
) -> None:
    """Valid where nothing is expected; else the first violation is named, by time and request."""
    verdict = judged(instance_of(memory, *rows), starts, attempts=attempts)
    assert verdict.valid == (expected == "")
    assert expected in verdict.reason
    assert verdict.exit_code == (0 if verdict.valid else 10 if "cancelled" in expected else 21)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instance_sha256": "0" * 64}, "another instance"),
        ({"starts": (0,)}, "expected 2 starts"),
        ({"starts": (0, 1, 2)}, "expected 2 starts"),
        ({"attempts": ((),)}, "expected 2 lists of attempts"),
        ({"tel": 5}, "TEL is 6, the schedule claims 5"),
        ({"tel": 7}, "TEL is 6, the schedule claims 7"),
        ({"lower_bound": 7}, "lower bound 7 exceeds"),
        ({"status": "optimal"}, "without a lower bound"),
        ({"status": "optimal", "lower_bound": 5}, "is not the TEL"),
        ({"status": "infeasible"}, "can be run"),
        ({"status": "no_solution"}, "can be run"),
    ],
)
def test_false_claims_are_malformed(changes: dict[str, object], words: str) -> None:
    """A wrong hash, count, TEL, bound or status makes a runnable schedule malformed."""
    schedule = dataclasses.replace(make_schedule(PAIR, [0, 1], "test"), **changes)  # type: ignore[arg-type]
    verdict = check_schedule(PAIR, schedule)
    assert (verdict.kind, verdict.exit_code) == ("malformed", 10)
    assert words in verdict.reason


def test_true_claims_are_accepted() -> None:
    """A bound up to the TEL is accepted, optimality where they are equal, and another name."""
    schedule = dataclasses.replace(make_schedule(PAIR, [0, 1], "test"), instance="old name")
    assert "'old name'" in check_schedule(PAIR, schedule).reason
    assert judged(PAIR, [0, 1], lower_bound=5).valid
    assert judged(PAIR, [0, 1], lower_bound=6, status="optimal").valid


def test_a_known_optimum_refuses_nothing() -> None:
    """It is a statement of the file: a valid schedule below it proves it wrong, and says so."""
    instance = dataclasses.replace(PAIR, known_optimum=6, known_optimum_reason="by hand")
    right = judged(instance, [0, 1], lower_bound=6, status="optimal")
    assert str(right) == "valid: instance 'made', n=2, TEL 6"
    wrong = dataclasses.replace(PAIR, known_optimum=7, known_optimum_reason="a mistake")
    below = judged(wrong, [0, 1])
    assert below.valid
    assert below.reason.endswith("TEL 6; the instance's known optimum, 7, is wrong")


# Two requests (0, 2, 5) with M = 100: nothing but the rules on kept tokens matters.
KEEPING = instance_of(100, (0, 2, 5))


def test_a_run_that_kept_tokens_begins_where_they_end() -> None:
    """Its start is before its beginning, which must not be before the last attempt's end."""
    # Tokens 1, 2 at times 1, 2; tokens 3, 4, 5 at times 3, 4, 5, or one round later.
    assert judged(KEEPING, [0], attempts=[[(0, 2)]], kept=[[0, 2]]).valid
    assert judged(KEEPING, [1], attempts=[[(0, 2)]], kept=[[0, 2]]).valid
    # Only one of the two kept: token 2 at time 2 again, while the attempt still holds it.
    early = judged(KEEPING, [0], attempts=[[(0, 2)]], kept=[[0, 1]])
    assert (early.kind, early.time) == ("infeasible", 1)


@pytest.mark.parametrize(
    ("attempts", "kept", "words"),
    [
        (None, [[4]], "a run of 5 tokens kept 4, expected fewer, and at most the 0 made before"),
        (None, [[0, 4]], "expected 1 counts of kept tokens"),
        (None, [[]], "expected 1 counts of kept tokens"),
        (None, [[0], [0]], "expected 1 lists of kept tokens"),
        (None, [], "expected 1 lists of kept tokens"),
        ([[(0, 2)]], [[1, 2]], "a run of 2 tokens kept 1, expected fewer, and at most the 0 made"),
        ([[(0, 2)]], [[0, 3]], "a run of 5 tokens kept 3, expected fewer, and at most the 2 made"),
        ([[(0, 2), (2, 2)]], [[0, 2, 2]], "a run of 2 tokens kept 2, expected fewer"),
        ([[(0, 2)]], [[0]], "expected 2 counts of kept tokens"),
        ([[(0, 2)]], [[0, 2, 2]], "expected 2 counts of kept tokens"),
    ],
)
def test_tokens_kept_from_nowhere_are_malformed(
    attempts: list[list[tuple[int, int]]] | None, kept: Any, words: str
) -> None:
    """A run keeps at most what the one before made, and less than it has in the end."""
    plain = make_schedule(KEEPING, [0], "test", attempts=attempts)
    verdict = check_schedule(KEEPING, dataclasses.replace(plain, kept=kept))
    assert (verdict.kind, verdict.exit_code) == ("malformed", 10)
    assert words in verdict.reason


def test_what_keeps_tokens_is_never_optimal() -> None:
    """OPT is about schedules that keep none; a bound up to the TEL is what old files state."""
    schedule = make_schedule(KEEPING, [0], "test", attempts=[[(0, 2)]], kept=[[0, 2]])
    assert schedule.easier
    verdict = check_schedule(KEEPING, schedule)
    assert verdict.reason.endswith("TEL 5; " + KEEPS_TOKENS_NOTE)
    assert check_schedule(KEEPING, dataclasses.replace(schedule, lower_bound=5)).valid
    claimed = dataclasses.replace(schedule, lower_bound=5, status="optimal")
    assert "keeps tokens" in check_schedule(KEEPING, claimed).reason
    # Counts that are all 0 say that nothing was kept, in whatever way they are written.
    nothing = make_schedule(KEEPING, [0], "test", lower_bound=5, status="optimal")
    nothing = dataclasses.replace(nothing, kept=((0,),))
    assert not nothing.easier
    assert check_schedule(KEEPING, nothing).valid


def test_memory_counted_as_in_the_engine() -> None:
    """A token takes its slot a round later, so two requests of 1 + 2 tokens fit into 4, not 3."""
    # They hold 1 + 1 and 2 + 2 at times 1 and 2; counted by the problem 2 + 2 and 3 + 3.
    for memory, valid in ((4, True), (3, False)):
        instance = instance_of(memory, (0, 1, 2), (0, 1, 2))
        schedule = make_schedule(instance, [0, 0], "test", engine_accounting=True)
        verdict = check_schedule(instance, schedule)
        assert verdict.valid == valid
        assert valid or (verdict.time, verdict.tokens) == (2, 4)
        assert max(memory_profile(instance, schedule).tokens) == 4
    instance = instance_of(4, (0, 1, 2), (0, 1, 2))
    schedule = make_schedule(instance, [0, 0], "test", engine_accounting=True)
    assert "counts memory as vLLM's engine: outside" in check_schedule(instance, schedule).reason
    plain = dataclasses.replace(schedule, engine_accounting=False)
    assert check_schedule(instance, plain).tokens == 6
    claimed = dataclasses.replace(schedule, lower_bound=4, status="optimal")
    assert check_schedule(instance, claimed).kind == "malformed"
    # It is no upper bound on OPT: one after the other is 2 + 4, together 2 + 2.
    assert is_better_schedule(make_schedule(instance, [0, 2], "test"), schedule)
    # An empty prompt counts as one token: 1 and 2, not 0 and 1.
    empty = instance_of(3, (0, 0, 2), (0, 0, 2))
    schedule = make_schedule(empty, [0, 0], "test", engine_accounting=True)
    assert check_schedule(empty, schedule).tokens == 4
    assert parse_schedule(schedule_document(schedule)) == schedule
    assert "engine_accounting" not in schedule_document(plain)


def test_a_known_optimum_says_nothing_of_kept_tokens() -> None:
    """A schedule that keeps tokens may be below it, and does not prove it wrong."""
    # Request 1 makes its tokens at times 1, 2; request 2 at 1 and, after an eviction, at 3; request
    # 0 at 4, 5; request 3 at 4 and 6: latencies 5 - 1, 2, 3 and 6 - 1, at most 2 tokens at a time.
    rows = [(1, 0, 2), (0, 0, 2), (0, 0, 2), (1, 0, 2)]
    instance = instance_of(2, *rows, known_optimum=18, known_optimum_reason="tried")
    schedule = run_policy(policies()["vllm-v1"], instance)
    assert (schedule.tel, brute_force_optimum(instance)) == (14, 18)
    verdict = check_schedule(instance, schedule)
    assert verdict.valid
    assert "known optimum" not in verdict.reason


def test_structure_comes_before_feasibility_and_that_before_claims() -> None:
    """Of a wrong hash, an overflow and a wrong TEL the checker names them in this order."""
    bad = dataclasses.replace(make_schedule(PAIR, [0, 0], "test"), tel=99, instance_sha256="f" * 64)
    tight = dataclasses.replace(PAIR, memory=5)
    assert check_schedule(tight, bad).kind == "malformed"
    known = dataclasses.replace(bad, instance_sha256=tight.sha256)
    assert check_schedule(tight, known).kind == "infeasible"


def test_integers_of_any_size_are_judged() -> None:
    """Starts beyond 64 bits, and beyond what Python prints, neither overflow nor raise."""
    instance = instance_of(9, (0, 4, 2), (0, 4, 2))
    huge = 10**5000
    assert judged(instance, [2**63, 2**63 + 2]).valid
    verdict = judged(instance, [huge, huge])
    assert verdict.time == huge + 1
    assert len(verdict.reason) < 200


def test_ten_times_the_requests_take_ten_times_as_long() -> None:
    """The checker is O(n log n): ten times the requests take some ten times the CPU seconds."""
    assert _check_seconds(1_000_000) < 25 * _check_seconds(100_000)


def _check_seconds(n: int) -> float:
    small = Instance(name="big", memory=8, requests=(Request(0, 0, 3, 5),))
    instance = Instance.__new__(Instance)
    instance.__dict__.update(small.__dict__, requests=small.requests * n, sha256="a" * 64)
    # The k-th request completes at 5k + 5: the sum over k < n is 5n(n + 1)/2.
    starts, tel = tuple(range(0, 5 * n, 5)), 5 * n * (n + 1) // 2
    schedule = Schedule("big", "a" * 64, "test", starts, tel, None, "feasible")
    began = time.process_time()  # of this process alone: others may be at work next to it
    assert check_schedule(instance, schedule).valid
    return time.process_time() - began
