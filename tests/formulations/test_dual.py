"""Bounds from searched prices: valid against brute force, in time; ``test_exact`` has the LP."""

import math
import time

import pytest
from hypothesis import given, settings

from formulations.formulation_registry import formulations
from instances import Instance
from instances.families.chat_lognormal import generate
from tests.engine_batch import solve_batch, start_afresh
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances
from tests.tiers import a_few, in_two

BOUNDS = ("bound-dual", "bound-lp", "bound-patterns", "bound-volume")


def test_bounds_are_formulations() -> None:
    """Files that define ``compute_bound`` are listed as bounds, helper files are not."""
    listed = {name for name, each in formulations().items() if each.kind == "bound"}
    assert listed == {*BOUNDS, "bound-seconds"}
    # That one, and no other formulation, is for arrivals in seconds.
    assert {n for n, each in formulations().items() if not each.in_rounds} == {"bound-seconds"}
    assert all(formulations()[name].relaxation for name in listed)


@pytest.mark.parametrize("number", a_few((3, 30), 1))
def test_drawn_bounds_are_valid_and_repeat(number: int) -> None:
    """With arrivals and n ≤ 5 no bound exceeds brute force, and a second run says the same."""
    drawn: list[Instance] = []

    @given(instance=instances(max_requests=5, max_memory=12, max_arrival=8, max_output=6))
    @settings(max_examples=number, deadline=None, database=None, derandomize=True)
    def draw(instance: Instance) -> None:
        drawn.append(instance)

    draw()
    pairs = [(instance, name) for instance in drawn for name in BOUNDS]
    first = solve_batch(pairs)
    start_afresh()
    second = solve_batch(pairs)
    for (instance, name), answer in zip(pairs, first, strict=True):
        assert answer.bound <= brute_force_optimum(instance), (name, instance)
        if answer.relaxation is not None:
            assert answer.bound >= math.ceil(answer.relaxation - 1e-3), (name, instance)
    assert [answer.bound for answer in first] == [answer.bound for answer in second]


@pytest.mark.parametrize(
    "text",
    [
        *("bound-dual(knots=2147483647)", "bound-dual(most_knots=2147483647)"),
        *("bound-patterns(points=2147483647)", "bound-patterns(shorter=2147483647)"),
    ],
)
def test_the_largest_number_of_an_option_costs_no_more_than_the_instance(text: str) -> None:
    """Grids have no more places than rounds and tokens; prices that overflow are none."""
    instance = instance_of(9, (0, 2, 5), (0, 1, 7))
    (answer,) = solve_batch([(instance, text)], seconds=2)
    assert 0 < answer.bound <= brute_force_optimum(instance)


@pytest.mark.slow("waits")
def test_the_deadline_is_kept() -> None:
    """3,000 chat requests in at most 6 s, imports included, and better than volumes."""
    instance = generate(n=3000)
    started = time.monotonic()
    dual, volume = solve_batch([(instance, "bound-dual"), (instance, "bound-volume")], seconds=6)
    # Two engine processes' start and the volume bound come on top of the 6 s.
    assert time.monotonic() - started < 20
    assert volume.bound < dual.bound < dual.tel


#: Every formulation in rounds but the integer programs, of which there are five, and options.
LATE = [
    *(n for n, each in formulations().items() if each.kind != "mip" and n != "bound-seconds"),
    *("ilp", "ilp-xy"),
    *("ilp(groups=yes)", "ilp-sparse(groups=yes)"),
]


@pytest.mark.parametrize("names", in_two(LATE, 4))
def test_rounds_that_do_not_fit_in_memory_are_refused(names: list[str]) -> None:
    """Arrivals at the end of time: every method says so or bounds, and none dies of it.

    Two requests at round 10¹², M = 9: together they hold 8 + 4 tokens, so one waits two rounds.
    """
    end = 10**12
    instance = instance_of(9, (end, 6, 2), (end, 2, 2))
    for name, answer in zip(names, solve_batch([(instance, n) for n in names]), strict=True):
        assert answer.bound <= answer.tel == 6, name


def test_identical_requests_are_one_group() -> None:
    """Fifty equal requests: the bounds are no worse than the volumes, counted by hand."""
    instance = instance_of(20, *[(0, 0, 4)] * 50)
    dual, lp = solve_batch([(instance, "bound-dual"), (instance, "bound-lp")])
    assert lp.relaxation is not None
    # Each holds 10 token-rounds, so 2 a round by volume: the j-th completes at ⌈j / 2⌉ or later.
    volumes = sum(max(4, -(-j // 2)) for j in range(1, 51))
    assert volumes <= dual.bound + 1
    assert dual.bound <= lp.bound <= lp.tel
