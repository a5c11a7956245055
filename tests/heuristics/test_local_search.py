"""Local search on priority lists: exact evaluation, never worse, repeatable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.admission import Requests
from heuristics.compiled import compiled
from heuristics.local_search import empty_snapshots, evaluate, improve_list
from heuristics.policy import Ints
from heuristics.simulator import run_in_order
from instances import Instance
from instances.families import am1, am2
from schedules import check_schedule
from tests.oracles.draws import instances


@given(instance=instances(max_requests=40, max_arrival=0), data=st.data())
@settings(max_examples=100, deadline=None)
def test_evaluation_from_a_snapshot_equals_the_simulator(
    instance: Instance, data: st.DataObject
) -> None:
    """After a change at two places, redoing only what follows gives the simulator's total."""
    n = len(instance)
    order = np.array(data.draw(st.permutations(range(n))), dtype=np.int64)
    requests = Requests(instance.arrivals, instance.prompts, instance.outputs, instance.outputs)
    snapshots = empty_snapshots(requests, instance.memory)
    arguments = (instance.prompts, instance.outputs, instance.memory)
    limit = 1 << 60
    total = compiled(evaluate)(order, *arguments, 0, limit, snapshots, True)
    assert total == sum(run_in_order(instance, order, "list").starts)
    a, b = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    order[a], order[b] = order[b], order[a]
    expected = sum(run_in_order(instance, order, "list").starts)
    assert compiled(evaluate)(order, *arguments, min(a, b), limit, snapshots, False) == expected
    # Above the threshold the value only tells that it is above.
    cut = compiled(evaluate)(order, *arguments, min(a, b), expected - 1, snapshots, False)
    assert cut > expected - 1


@pytest.mark.parametrize("family", [am1, am2])
def test_every_better_list_is_better_and_valid(family: object) -> None:
    """Lists only get better, their schedules pass the checker, and the best beats the start."""
    instance = family.generate(seed=1)  # type: ignore[attr-defined]
    order = np.arange(len(instance))
    found: list[Ints] = []
    # The first call pays for the compilation.
    improve_list(instance, order, seed=1, seconds=0.01, on_better=lambda _: None)
    improve_list(instance, order, seed=1, seconds=1.0, on_better=found.append)
    tels = [run_in_order(instance, each, "list").tel for each in found]
    assert tels == sorted(tels, reverse=True)
    assert tels[-1] < run_in_order(instance, order, "list").tel
    assert check_schedule(instance, run_in_order(instance, found[-1], "list")).valid


def test_one_request_is_left_alone() -> None:
    """There is nothing to exchange in a list of one."""
    instance = am1.generate(n=1)
    improve_list(instance, np.array([0]), seed=0, seconds=0.1, on_better=_refuse)


def _refuse(order: Ints) -> None:
    raise AssertionError(order)
