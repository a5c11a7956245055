"""Gap filling: each request at the first round at which it fits, by the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import gap_filling
from heuristics.compiled import compiled
from heuristics.gap_filling import BLOCK
from heuristics.local_search import Budget, Search, by_volume, columns_of, improve_starts
from heuristics.policy import Ints
from heuristics.simulator import run_in_order
from instances import Instance
from instances.families import mix80_20
from schedules import check_schedule, make_schedule
from tests.oracles.draws import instances


def early(instance: Instance, order: list[int], begun: list[int]) -> list[int]:
    """Return what ``start_early`` should, round after round and time after time."""
    starts = list(begun)

    def held(time: int, but: int) -> int:
        return sum(
            request.prompt + time - start
            for i, (start, request) in enumerate(zip(starts, instance.requests, strict=True))
            if i != but and start >= 0 and start < time <= start + request.output
        )

    for i in order:
        request = instance.requests[i]
        start = int(request.arrival)
        while any(
            held(start + j, i) + request.prompt + j > instance.memory
            for j in range(1, request.output + 1)
        ):
            start += 1
        starts[i] = start
    return starts


def found(instance: Instance, order: Ints, begun: Ints, rounds: int, kernel: Any) -> list[int]:
    """Return the starts that the kernel finds, none where it says that it has not found all."""
    profile = (np.zeros(rounds, np.int32), np.zeros(rounds // BLOCK + 1, np.int32))
    starts = begun.copy()
    complete = kernel(columns_of(instance), instance.memory, order, starts, profile)
    return starts.tolist() if complete else []


@pytest.mark.parametrize("compile_it", [False, True])
@given(
    instance=instances(max_requests=14, max_memory=16, max_arrival=90, max_output=12),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_each_takes_the_first_gap(
    compile_it: bool, instance: Instance, data: st.DataObject
) -> None:
    """From nothing, and from a schedule; arrivals and gaps lie blocks apart; a checked schedule."""
    n = len(instance)
    kernel = compiled(gap_filling.start_early) if compile_it else gap_filling.start_early
    order = np.array(data.draw(st.permutations(range(n))), dtype=np.int64)
    rounds = int(instance.arrivals.max() + instance.outputs.sum()) + 2
    nothing = np.full(n, -1, np.int64)
    known = np.array(run_in_order(instance, order, "list").starts, np.int64)
    for begun in (nothing, known):
        expected = early(instance, order.tolist(), begun.tolist())
        assert found(instance, order, begun, rounds, kernel) == expected
        assert check_schedule(instance, make_schedule(instance, expected, "early")).valid
        assert begun is nothing or sum(expected) <= known.sum()
    end = max(early(instance, order.tolist(), nothing.tolist()) + instance.outputs)
    assert found(instance, order, nothing, int(end) + 1, kernel)
    assert not found(instance, order, nothing, int(end), kernel)


def test_a_search_begins_where_gaps_are_filled_if_that_is_better() -> None:
    """Exactly there, as a list with delays; a worse order changes nothing."""
    instance = mix80_20.generate(seed=1, n=300)
    columns, order = columns_of(instance), by_volume(columns_of(instance))
    known = np.array(run_in_order(instance, order, "svf").starts, np.int64)
    search = Search(columns, instance.memory, known, seed=0)
    filled = early(instance, order.tolist(), [-1] * len(instance))
    assert sum(filled) < known.sum()
    search.fill_gaps(order[::-1].copy())
    assert (search.total, search.best().tolist()) == (known.sum(), known.tolist())
    search.fill_gaps(order)
    assert (search.total, search.best().tolist()) == (sum(filled), filled)
    told: list[int] = []
    budget = Budget(moves=1)
    improve_starts(
        columns, instance.memory, known, budget, seed=0, on_better=lambda s, _: told.append(s.sum())
    )
    assert told[0] <= sum(filled)


def test_rounds_beyond_what_is_kept_fill_no_gaps() -> None:
    """The search goes on from what it has."""
    instance = mix80_20.generate(seed=1, n=20)
    columns = columns_of(instance)
    late = columns._replace(arrivals=columns.arrivals + 10**9)
    known = np.cumsum(instance.outputs) + 10**9
    search = Search(late, instance.memory, known, seed=0)
    search.fill_gaps(by_volume(late))
    assert search.best().tolist() == known.tolist()
