"""Sorted-F and its relatives against literal transcriptions, enumeration and the paper's lemmas."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.batching.batch_table import batches_by_peaks, batches_exactly
from heuristics.batching.quantile import draw_sample, order_by_quantiles
from heuristics.batching.swap import first_fit
from heuristics.policy import Forecast, Known, NotApplicableError
from heuristics.policy_registry import policies
from heuristics.reference.sorted_f import fits_together, items_of, least_f
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from schedules import check_schedule
from tests.oracles.draws import instance_of, instances

EXAMPLE_3_1 = instance_of(64, (0, 63, 1), *[(0, 1, 2)] * 21)


def known_of(memory: int, arrivals: Any, prompts: Any, outputs: Any) -> Known:
    """Return what a clairvoyant policy knows."""
    forecast = Forecast(outputs, outputs)
    return Known(memory, arrivals, prompts, forecast, {}, np.random.default_rng(0))


def test_amin_evicts_the_smallest_estimate() -> None:
    """Two requests that outgrow M: the later of equals goes, and starts again when M suffices."""
    # Both are believed to make 1 token.  At time 2 they would hold 4 + 4 > 7, so at round 1 the
    # second is cancelled after 1 token.  The first holds 2 + j at time j and completes at 3; while
    # it runs, 2 + 1 + 4 = 7 tokens at time 2 would fit, but a round that evicts admits nothing; at
    # round 2 the believed token fits again (5 + 3 > 7 does not), so it waits until round 3.
    schedule = run_policy(policies()["sorted-f-amin"], instance_of(7, *[(0, 2, 3, 1, 3)] * 2))
    assert (schedule.starts, schedule.attempts) == ((0, 3), ((), ((0, 1),)))


@given(instance=instances(max_requests=9, max_arrival=0))
@settings(max_examples=300, deadline=None)
def test_exact_phase_1_is_optimal(instance: Instance) -> None:
    """Each batch is the one of least (F, −size), and fewest prompt tokens, of all subsets."""
    items = items_of(instance)
    known = known_of(instance.memory, instance.arrivals, instance.prompts, instance.outputs)
    order = np.concatenate(list(batches_exactly(known))).tolist()
    assert sorted(order) == list(range(len(items)))
    while order:
        best = least_f([items[i] for i in sorted(order)], instance.memory)
        batch = [items[i] for i in order[: len(best)]]
        assert fits_together(batch, instance.memory)
        assert set(batch) == best
        assert all(a.output <= b.output for a, b in pairwise(batch))
        order = order[len(best) :]


@pytest.mark.parametrize("order_of", [batches_exactly, batches_by_peaks])
@given(instance=instances(max_requests=12, max_memory=60, max_arrival=0))
@settings(max_examples=200, deadline=None)
def test_lemma_3_3(order_of: Callable[[Known], Iterator[np.ndarray]], instance: Instance) -> None:
    """W Lemma 3.3: in a batch of least F the mean output exceeds half of the longest."""
    outputs = instance.outputs
    known = known_of(instance.memory, instance.arrivals, instance.prompts, outputs)
    seen = [outputs[batch] for batch in order_of(known)]
    assert sum(len(batch) for batch in seen) == len(instance)
    assert all(2 * batch.sum() > len(batch) * batch.max() for batch in seen)


def test_exact_batches_can_exceed_the_sum_of_peaks() -> None:
    """Alg. 1 lets prompts end before others peak, which the bound of Alg. 2 forbids."""
    # (s, o) = (3, 1) and (0, 2), M = 5: 4 + 1 tokens at time 1, then 2; the peaks sum to 4 + 2.
    # Together F = 3/4 beats F = 1 of the first alone, so Alg. 1 starts both at 0.
    instance = Instance("weaker", 5, (Request(0, 0, 3, 1), Request(1, 0, 0, 2)))
    known = known_of(5, instance.arrivals, instance.prompts, instance.outputs)
    assert [len(batch) for batch in batches_exactly(known)] == [2]
    assert [len(batch) for batch in batches_by_peaks(known)] == [1, 1]


@pytest.mark.parametrize(
    "name", ["svf", *(f"sorted-f-{each}" for each in ("dp", "exact", "swap", "quantile", "amin"))]
)
def test_example_3_1(name: str) -> None:
    """W Example 3.1: the 21 short prompts first, 21·2 + 3 = 45, where MC-SF needs 64."""
    # F of the 21 is 42/441 < 1 = F of the other; their peaks sum to 21·3 = 63 ≤ 64.
    assert run_policy(policies()[name], EXAMPLE_3_1).tel == 45
    assert run_policy(policies()["mc-sf"], EXAMPLE_3_1).tel == 64


@given(sizes=st.lists(st.integers(1, 30), max_size=40), capacity=st.integers(0, 200))
def test_first_fit_in_runs(sizes: list[int], capacity: int) -> None:
    """Taking runs at once chooses what adding one by one chooses."""
    expected, left = [], capacity
    for place, size in enumerate(sizes):
        if size <= left:
            expected.append(place)
            left -= size
    assert first_fit(np.array(sizes, dtype=np.int64), capacity).tolist() == expected


def test_long_lists_are_read_in_pieces() -> None:
    """Lists beyond the length of one piece lose nothing at the seams."""
    # 10,000 sizes of 1 and capacity 9,999: all but the last; then one batch of the last.
    assert len(first_fit(np.ones(10_000, dtype=np.int64), 9_999)) == 9_999
    n = 3_000
    zeros, ones = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    expected = list(range(n))
    instance = Instance("ones", n - 1, tuple(Request(i, 0, 0, 1) for i in range(n)))
    starts = run_policy(policies()["sorted-f-swap"], instance).starts
    assert list(starts) == [0] * (n - 1) + [1]
    known = known_of(n - 1, zeros, zeros, ones)
    assert order_by_quantiles(known).tolist() == expected


def test_shares_of_long_requests_are_compared_exactly() -> None:
    """Shares that differ by less than a double can show are still put in order."""
    # (2y − 1)/(2y + 1) < y/(y + 1), with a gap of about 1/(2y²), so both are equal as doubles,
    # and a stable sort of doubles would leave the smaller output y first.
    y = 4 * 10**8
    assert (2 * y - 1) / (2 * y + 1) == y / (y + 1)
    outputs = np.array([1, y, 2 * y - 1], dtype=np.int64)
    prompts = np.array([1, 1, 2], dtype=np.int64)
    # A sample of the short request alone makes it the core, with 2 tokens; what is left is just
    # the peak 2y + 1 of the third, which comes first by share and leaves no room for the second.
    known = known_of(2 + 2 * y + 1, np.zeros(3, dtype=np.int64), prompts, outputs)
    seeds = [s for s in range(20) if draw_sample(3, np.random.default_rng(s)).tolist() == [0]]
    assert seeds
    for seed in seeds:
        drawing = replace(known, rng=np.random.default_rng(seed))
        order = order_by_quantiles(drawing).tolist()
        assert order == [0, 2, 1]


@pytest.mark.parametrize("name", ["sorted-f-dp", "sorted-f-exact"])
def test_tables_that_would_not_fit_are_refused(name: str) -> None:
    """A memory of 10^9 tokens would need tables of gigabytes: refused in one line."""
    instance = instance_of(10**9, *[(0, 10**8, 10**8)] * 20)
    with pytest.raises(NotApplicableError, match="cells") as refusal:
        run_policy(policies()[name], instance)
    assert "\n" not in str(refusal.value)


@given(instance=instances(max_requests=10), seed=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_local_search_is_never_worse(instance: Instance, seed: int) -> None:
    """With or without moves the result is at least as good as every simple order."""
    simple = ("fcfs", "mc-sf", "mc-sf-total", "svf", "swf", "output-peak")
    best = min(run_policy(policies()[name], instance).tel for name in simple)
    policy = policies()["local-search"]
    assert run_policy(policy, instance, RunSetting(values={"moves": 0})).tel == best
    searched = run_policy(policy, instance, RunSetting(values={"moves": 60}, seed=seed))
    assert searched.tel <= best
    assert check_schedule(instance, searched).valid
