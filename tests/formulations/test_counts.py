"""The search over counts of equal requests: the optimum, by an argument of its own."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from formulations.dp.counts import search
from instances import Instance, Request
from kvopt.methods.witness import certificate_witness, engine_witness
from schedules import check_schedule, make_schedule
from schedules.evidence import independent_pair
from tests.engine_batch import one_at_a_time
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import alike


@settings(max_examples=50, deadline=None)
@given(alike(max_requests=6, max_memory=10, max_output=4))
def test_it_is_the_optimum(instance: Instance) -> None:
    """As by trying all starts, from any known TEL; its starts pass the checker with that TEL."""
    optimum = brute_force_optimum(instance)
    for known in {optimum, optimum + 1, one_at_a_time(instance).tel}:
        found = search(instance, known)
        assert found is not None
        assert found.tel == optimum
        schedule = make_schedule(instance, found.starts, "counts")
        assert check_schedule(instance, schedule).valid
        assert schedule.tel == optimum
    assert search(instance, optimum - 1) is None


#: A long one that fills the memory at its end, then short ones that come while it runs.
BURST = Instance("burst", 6, (Request(0, 0, 1, 5), *(Request(i, 3, 1, 1) for i in range(1, 7))))


def _ticks(number: int) -> Iterator[bool]:
    yield from [False] * number
    while True:
        yield True


@pytest.mark.parametrize("number", [0, 1, 5])
def test_it_ends_when_the_time_is_up(number: int) -> None:
    """Then it says nothing, neither a schedule nor a bound."""
    ticks = _ticks(number)
    assert search(BURST, one_at_a_time(BURST).tel, lambda: next(ticks)) is None


@pytest.mark.parametrize("kind", ["volumes", "prices", "sweep"])
def test_it_is_a_witness_beside_every_certificate(kind: str) -> None:
    """It shares no code and no argument with what evaluates any of them."""
    pair = engine_witness("search:counts", 12), certificate_witness(kind, 12)
    assert independent_pair(pair) == pair
