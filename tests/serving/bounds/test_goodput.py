"""What no scheduler's goodput is above: by hand, against trying all schedules, and policies."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from instances.arrivals import redraw_arrivals
from instances.batch_time import NANOSECONDS, BatchTime
from schedules.clock.timeline import make_timeline
from serving.batch_time import read_batch_time
from serving.bounds import goodput as module
from serving.bounds.goodput import goodput_bound, most_good
from serving.bounds.loads import not_covered
from serving.metrics import good, goodput
from serving.slo import Slo, read_slo
from tests.oracles.draws import instance_of
from tests.oracles.real_time_brute_force import Coefficients, Limits, Moves, best_goodput
from tests.tiers import a_few

HAND = read_batch_time("linear(base=100,prefill=150)")


def _at(*arrivals: float) -> Instance:
    """M = 2, s = o = 1: 50 ms for the share of the base and 150 for the prompt."""
    return instance_of(2, *((a, 1, 1) for a in arrivals), time_unit="second")


@pytest.mark.parametrize(
    ("arrivals", "slo", "most"),
    [
        # 0.5 s hold two times 0.2 and not three.
        ((0, 0, 0), "ttft:0.5s", 2),
        ((0, 0, 0), "e2el:0.6s", 3),
        # A round with one alone takes 0.25 s.
        ((0, 0, 0), "e2el:0.249s", 0),
        # From 0 to 0.55 there are two windows, from 5 s on four in 0.5 s.
        ((0, 0.05, 5, 5, 5, 5), "ttft:0.5s", 4),
        ((0, 0, 0), "tpot:0.001s", 3),
    ],
)
def test_by_hand(arrivals: tuple[float, ...], slo: str, most: int) -> None:
    assert most_good(_at(*arrivals), HAND, read_slo(slo)) == most


@pytest.mark.parametrize("slo", ["ttft:0.5s", "e2el:0.6s", "ttft:0.5s,tpot:0.1s"])
def test_what_is_known_of_outputs_is_of_no_matter(slo: str) -> None:
    """An interval above 1 is none of a first token, which has its own work."""
    rows = [(0.05 * i, 1, 3) for i in range(3)]
    plain = instance_of(9, *rows, time_unit="second")
    known = instance_of(9, *((*row, 2, 99) for row in rows), time_unit="second")
    for bound in (most_good, goodput_bound):
        assert bound(known, HAND, read_slo(slo)) == bound(plain, HAND, read_slo(slo))


def test_the_time_that_all_take() -> None:
    """Three at once: one good one, in no less than 3 · 0.2 s; a later one is alone for 0.25."""
    assert goodput_bound(_at(0, 0, 0), HAND, read_slo("e2el:0.3s")) == pytest.approx(1 / 0.6)
    assert goodput_bound(_at(0, 9), HAND, read_slo("e2el:0.3s")) == pytest.approx(2 / 9.25)


def test_nothing_is_known_of_kept_tokens_that_cost_nothing() -> None:
    """Where prefilling anew is cheaper than a decode step."""
    instance = instance_of(9, (0, 1, 3), time_unit="second")
    model = read_batch_time("linear(base=100,decode=50)")
    assert not_covered(instance, model)
    assert goodput_bound(instance, model, read_slo("ttft:1s")) is None


def _draw(rng: random.Random) -> tuple[list[tuple[int, int, int]], int, Coefficients, Limits]:
    """Few requests, rounds of about a microsecond, and limits of some rounds."""
    number = rng.choice([2, 2, 3])
    requests = []
    for _ in range(number):
        arrival = rng.choice([0, 0, rng.randint(0, 4000)])
        requests.append((arrival, rng.randint(1, 5 - number), rng.randint(1, 5 - number)))
    memory = max(s + o for _, s, o in requests) + rng.randint(0, 3)
    coefficients = (
        rng.choice([0, 10**6, 10**6, 10**6]),
        rng.choice([0, 4 * 10**5, 10**6]),
        rng.choice([0, 0, 10**5]),
        rng.choice([0, 10**4, 10**5]),
        rng.choice([0, 10**4]),
    )

    def limit(most: int) -> int | None:
        return rng.choice([None, rng.randint(500, most)])

    return requests, memory, coefficients, Limits(limit(4000), limit(2500), limit(8000))


def _instance(requests: list[tuple[int, int, int]], memory: int) -> Instance:
    rows = ((a / NANOSECONDS, s, o) for a, s, o in requests)
    return instance_of(memory, *rows, time_unit="second")


@pytest.mark.parametrize("grid", [500, 1])
@pytest.mark.parametrize("number", a_few((16, 100), 1))
def test_no_schedule_is_better(grid: int, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither has more good ones than the bound, nor a larger goodput; windows may be moved out."""
    monkeypatch.setattr(module, "_GRID", grid)
    rng = random.Random(1)
    met = below = 0
    for _ in range(number):
        requests, memory, coefficients, limits = _draw(rng)
        instance, model = _instance(requests, memory), BatchTime("drawn", *coefficients)
        slo = Slo(*limits)
        found = goodput_bound(instance, model, slo)
        if found is None:
            continue
        few = len(requests) == 2
        moves = Moves(chunks=few, evictions=1 if few else 0)
        count, rate = best_goodput(requests, memory, coefficients, limits, moves)
        most = most_good(instance, model, slo)
        assert count <= most, (requests, memory, coefficients, limits)
        assert float(rate) * NANOSECONDS <= found * (1 + 1e-9)
        met += count == most
        below += most < len(requests)
    # The bound is often tight, and often says something.
    assert 4 * met > number
    assert 6 * below > number


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=12),
    st.sampled_from(["e2el:0.3s", "ttft:0.2s,tpot:0.05s", "ttft:0.15s", "tpot:0.03s"]),
    st.floats(0.5, 50.0),
)
def test_no_policy_has_more(lengths: list[tuple[int, int]], slo: str, rate: float) -> None:
    """At any rate, on the way to the largest too."""
    instance = redraw_arrivals(instance_of(12, *((0, *each) for each in lengths)), rate)
    model = read_batch_time("linear(base=20,prefill=30,decode=5)")
    most = most_good(instance, model, read_slo(slo))
    bound = goodput_bound(instance, model, read_slo(slo))
    assert bound is not None
    for name in ("svf", "srpt", "vllm-v1"):
        setting = RunSetting({"block": 1} if name == "vllm-v1" else None, batch_time=model)
        times = make_timeline(instance, run_policy(policies()[name], instance, setting))
        assert good(times, read_slo(slo)).sum() <= most
        assert goodput(times, read_slo(slo)) <= bound * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 12)] * 2, st.integers(0, 6)), min_size=1, max_size=7))
def test_it_is_the_largest_sum_of_shares(windows: list[tuple[int, int, int]]) -> None:
    """As the LP of all intervals says (HiGHS of SciPy), whatever the order of the works."""
    from scipy.optimize import linprog

    begins = np.array([begin for begin, _, _ in windows])
    ends = begins + [length for _, length, _ in windows]
    works = np.array([work for _, _, work in windows])
    some = works > 0
    rows, limits = [], []
    for begin in set(begins.tolist()):
        for end in {each for each in ends.tolist() if each >= begin}:
            rows.append(((begins >= begin) & (ends <= end))[some].astype(float))
            limits.append(end - begin)
    free = int((~some).sum())
    if not some.any():
        assert module._most(begins, ends, works) == free
        return
    costs, boxes = -1 / works[some], [(0, int(each)) for each in works[some]]
    best = -linprog(costs, A_ub=np.array(rows), b_ub=limits, bounds=boxes).fun + free
    assert module._most(begins, ends, works) == int(best + 1e-6)
