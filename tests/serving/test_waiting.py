"""Who waits in a run in seconds, and for what: by hand, on rounds of 100 ms and more."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import kvopt
from instances import Instance, Request
from kvopt.methods.grammar import read_method
from kvopt.result import Result
from kvopt.sweeps.sweep_inputs import Wishes
from serving.batch_time import read_batch_time
from serving.best_bound import KnownBound, percent_left
from serving.rate_sweep import rate_sweep
from serving.waiting_requests import no_request_waits
from tests.oracles.draws import instance_of
from tests.oracles.real_time_brute_force import Moves, least_total_latency

#: Five requests of three rounds arrive together; their tokens are no more than 5 · (1 + 3) = 20.
FIVE = Instance("five", 40, tuple(Request(i, 0, 1, 3) for i in range(5)), time_unit="second")
BATCH = "affine(base=100,token=10)"


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ((0, 0.0, 3.0), "no request waits"),
        ((2, 0.001, 4.0), "requests wait 0.02 % of the time"),
        ((2, 0.05, 4.0), ""),
        ((None, None, None), ""),
        ((math.nan, math.nan, math.nan), ""),
    ],
)
def test_no_request_waits(metrics: tuple[float | None, ...], said: str) -> None:
    """By the most that wait, and the share of the time; rounds have no such metrics."""
    assert no_request_waits(*metrics) == said


def _left(result: Result) -> str:
    return dict(result.summary())["left to gain"]


def test_the_summary_says_that_order_has_hardly_anything_to_win() -> None:
    """All run from their first or second round on, and the bound leaves something all the same."""
    instance = replace(FIVE, requests=(*FIVE.requests, Request(5, 0.25, 1, 3)))
    result = kvopt.run(instance, "vllm-v1(block=1)", batch_time=BATCH)
    assert result.gap is not None
    idle = "hardly by order: no request waits for more than the round planned before"
    assert _left(result) == f"at most {percent_left(result.gap)} % of the TEL; {idle}"
    waits = kvopt.run(replace(instance, memory=10), "vllm-v1(block=1)", batch_time=BATCH)
    assert "by order" not in _left(waits)


@pytest.mark.parametrize(
    ("method", "memory", "said"),
    [
        ("vllm-v1(block=1,running=2,asynchronous=no)", 40,
         "100 % of the waiting is while 2 requests run, the most that may (running, vLLM's "
         "max_num_seqs); memory is at most 15 % full"),
        ("vllm-v1(running=4,accounting=tokens,asynchronous=no)", 9, ""),
        ("svf", 9, ""),
    ],
)  # fmt: skip
def test_the_limit_that_binds_is_named(method: str, memory: int, said: str) -> None:
    """Two of five run at a time, with 2 · 3 of 40 tokens; or memory is what is short."""
    result = kvopt.run(replace(FIVE, memory=memory), method, batch_time=BATCH)
    assert dict(result.summary()).get("waiting", "") == said


def test_the_bound_of_few_at_a_time_is_told_apart() -> None:
    """One of three may run at a time, the long prompt first: a note says what order leaves."""
    requests = [(0, 10, 3), (0, 1, 3), (0, 1, 3)]
    instance = instance_of(200, *requests, time_unit="second")
    result = kvopt.solve(instance, batch_time=f"{BATCH} with running=1", time_limit=3)
    (note,) = (each for each in result.notes if "at most 1 requests" in each)
    form = r"below ([\d.]+) s a request: order saves at most [\d.]+ % of vllm-v1's ([\d.]+) s, "
    told = re.search(form, note)
    assert told is not None
    ticks = (10**11, 10**10, 0, 10**10, 0)
    most = least_total_latency(requests, 200, ticks, Moves(engine=True, running=1)) / 3e9
    assert result.tel is not None
    assert result.bound is not None
    assert result.bound / 3e9 <= result.tel / 3e9 < float(told[1]) <= most
    assert float(told[2]) > most
    assert result.certificate is not None
    assert "running" not in result.certificate


def test_the_answer_at_each_rate_says_both(tmp_path: Path) -> None:
    """At 0.15 a second each waits for a round at most; at fifty a second, for two seats."""
    wishes = Wishes(batch_time=read_batch_time(BATCH), time_limit=1.0)
    methods = [read_method("vllm-v1(block=1,running=2)"), read_method("svf")]
    answers = rate_sweep(FIVE, (0.15, 50.0), methods, wishes, store=tmp_path / "r.sqlite").answers
    base = "vllm-v1(block=1,running=2) *"
    rows = [("none", base, "0.360 s", "0.473 s", "")]
    rows.append(("lengths", "svf", "0.342 s", "0.377 s", "5.0 %"))
    assert answers[0.15].rows() == rows
    planned = "Observed: no request waits for more than the round planned before, so there is "
    proved = f"{planned}hardly a queue to order.  Proved: No scheduler has a mean below 0.334 s"
    assert proved in str(answers[0.15])
    assert answers[50.0].rows()[1][4] == "36.0 %"
    assert " % of the waiting is while 2 requests run" in str(answers[50.0])
    wishes = replace(wishes, batch_time=read_batch_time(f"{BATCH} with running=2"))
    large, methods = replace(FIVE, memory=500), [read_method("vllm-v1"), read_method("svf")]
    swept = rate_sweep(large, (50.0,), methods, wishes)
    assert "No schedule that runs at most 2 requests at a time" in str(swept.answers[50.0])


def test_the_picture_has_the_bound_of_the_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no request waits: here 0.1 s, less than each request alone proves."""
    result = kvopt.run(FIVE, "svf", batch_time=BATCH)
    known = KnownBound(10**8, "rates", "here")
    monkeypatch.setattr("kvopt.result.best_bound", lambda *_, **__: known)
    assert "lower bound 0.100 s" in result.plot().get_title(loc="left")
