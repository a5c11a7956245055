"""What a search begins with: gaps filled, admission that passes over some, where one fits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import gap_filling
from heuristics import kernel_compiler as compiling
from heuristics.admission import ActiveRequests, Requests, first_feasible, starts_in_order
from heuristics.gap_filling import BLOCK
from heuristics.kernel_compiler import compiled
from heuristics.list_search import ListSearch, SearchBudget, by_volume, columns_of, improve_starts
from heuristics.simulator import run_in_order
from instances import Instance
from instances.families import mix80_20
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import fits, hold
from tests.oracles.draws import instances

#: Arrivals and starts lie blocks apart.
FAR_APART: Any = instances(max_requests=14, max_memory=16, max_arrival=90, max_output=12)


def admitted(instance: Instance, order: list[int], passes: int) -> list[int]:
    """Return the starts of admission in an order, round after round."""
    starts: dict[int, int] = {}
    held: dict[int, int] = {}
    now = 0
    while len(starts) < len(instance):
        passed = 0
        for i in order:
            request = instance.requests[i]
            if i in starts or int(request.arrival) > now:
                continue
            if fits(held, now, request.prompt, request.output, instance.memory):
                hold(held, now, request.prompt, request.output, +1)
                starts[i] = now
            elif passed == passes:
                break
            else:
                passed += 1
        now += 1
    return [starts[i] for i in range(len(instance))]


@pytest.mark.parametrize("compile_it", [False, True])
@given(instance=FAR_APART, data=st.data())
@settings(max_examples=150, deadline=None)
def test_each_is_shifted_to_the_first_gap(
    compile_it: bool, instance: Instance, data: st.DataObject
) -> None:
    """One after the other, by the definition; the checker finds the schedule valid."""
    n = len(instance)
    kernel = compiled(gap_filling.shift_left) if compile_it else gap_filling.shift_left
    order = np.array(data.draw(st.permutations(range(n))), dtype=np.int64)
    starts = np.array(run_in_order(instance, order, "list").starts, np.int64)
    by_start = np.argsort(starts, kind="stable")
    expected = starts.tolist()
    held: dict[int, int] = {}
    sizes = [(request.prompt, request.output) for request in instance.requests]
    for start, size in zip(expected, sizes, strict=True):
        hold(held, start, *size, +1)
    for i in by_start.tolist():
        prompt, output = sizes[i]
        hold(held, expected[i], prompt, output, -1)
        expected[i] = int(instance.requests[i].arrival)
        while not fits(held, expected[i], prompt, output, instance.memory):
            expected[i] += 1
        hold(held, expected[i], prompt, output, +1)
    rounds = int((starts + instance.outputs).max()) + 1
    profile = (np.zeros(rounds, np.int32), np.zeros(rounds // BLOCK + 1, np.int32))
    kernel(columns_of(instance), instance.memory, by_start, starts, profile)
    assert starts.tolist() == expected
    assert check_schedule(instance, make_schedule(instance, starts.tolist(), "shifted")).valid


@pytest.mark.parametrize("compile_it", [False, True])
@given(instance=FAR_APART, data=st.data(), passes=st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_so_many_are_passed_over_in_a_round(
    compile_it: bool, instance: Instance, data: st.DataObject, passes: int
) -> None:
    """Round after round, by the definition."""
    order = data.draw(st.permutations(range(len(instance))))
    outputs = instance.outputs
    requests = Requests(instance.arrivals, instance.prompts, outputs, outputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "COMPILE_FROM", 1 if compile_it else 10**6)
        starts = starts_in_order(requests, np.array(order), instance.memory, passes=passes)
    assert starts == admitted(instance, order, passes)


def test_a_search_begins_with_the_best_number_of_passes() -> None:
    """Exactly there, as a list with delays, then shifted to the left; never with a worse one."""
    instance = mix80_20.generate(seed=1, n=200)
    columns, order = columns_of(instance), by_volume(columns_of(instance))
    known = np.array(run_in_order(instance, order, "svf").starts, np.int64)
    outputs = instance.outputs
    requests = Requests(instance.arrivals, instance.prompts, outputs, outputs)
    sums = [
        sum(starts_in_order(requests, order, instance.memory, passes=1 << power))
        for power in range(8)
    ]
    assert min(sums) < min(sums[0], sums[-1], known.sum())
    search = ListSearch(columns, instance.memory, known, seed=0)
    search.pass_over(order[::-1].copy(), SearchBudget(moves=1))
    assert (search.total, search.best().tolist()) == (known.sum(), known.tolist())
    search.pass_over(order, SearchBudget(moves=1))
    assert search.total == search.best_total == min(sums)
    # A budget of no time leaves one pass.
    search = ListSearch(columns, instance.memory, known, seed=0)
    search.pass_over(order, SearchBudget(seconds=1e-9))
    assert search.best_total == min(sums[0], known.sum())
    stated: list[int] = []

    def report(starts: Any, _: Any) -> None:
        assert check_schedule(instance, make_schedule(instance, starts.tolist(), "")).valid
        stated.append(int(starts.sum()))

    improve_starts(columns, instance.memory, known, SearchBudget(moves=1), seed=0, on_better=report)
    assert stated[0] <= min(sums)


@st.composite
def _workers(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Draw active requests: (start, prompt, end believed), all active at round 10 or just over."""
    size = draw(st.integers(0, 5))
    return [
        (draw(st.integers(0, 10)), draw(st.integers(0, 4)), draw(st.integers(9, 20)))
        for _ in range(size)
    ]


def _fits(
    active: list[tuple[int, int, int]], start: int, prompt: int, length: int, memory: int
) -> bool:
    """Return whether M suffices at every time of a candidate's run."""
    return all(
        prompt + time - start + sum(s + time - p for p, s, end in active if p < time <= end)
        <= memory
        for time in range(start + 1, start + length + 1)
    )


@given(
    active=_workers(),
    prompt=st.integers(0, 4),
    length=st.integers(1, 8),
    spare=st.integers(0, 30),
    rounds=st.integers(0, 14),
)
@settings(max_examples=600, deadline=None)
def test_the_first_round_is_that_of_trying_all(
    active: list[tuple[int, int, int]], prompt: int, length: int, spare: int, rounds: int
) -> None:
    """From round 10 on, up to a limit that may come first; M may be exceeded without it."""
    memory, now = prompt + length + spare, 10
    limit = now + rounds
    active.sort(key=lambda each: each[2])
    bases = [s - p for p, s, _ in active]
    columns = ActiveRequests([end for _, _, end in active], bases, list(range(len(active))))
    found = first_feasible(columns, 0, len(active), sum(bases), prompt, length, memory, now, limit)
    fitting = (r for r in range(now, limit) if _fits(active, r, prompt, length, memory))
    assert found == next(fitting, limit)
