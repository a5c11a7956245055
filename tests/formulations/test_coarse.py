"""Memory in coarser units of tokens, and rows that keep out what overflows: exact at any M."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from formulations.mip._coarse import add_separating_rows, coarsen, unit_of
from formulations.mip.integer_program import Model
from formulations.valid.overflow import Overflow, Row, alike, overflows, separating_row
from formulations.valid.windows import Windows, start_windows
from instances import Instance, Request
from kvopt.engines.parts.tolerances import largest_activity
from schedules import check_schedule, make_schedule
from tests.engine_batch import one_at_a_time, solve_batch
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import edge
from tests.programs import program_of
from tests.tiers import in_two

MIPS = ("ilp", "ilp-sparse", "ilp(groups=yes)", "ilp-sparse(groups=yes)", "ilp-xy")
#: What a tolerance of 10⁻⁶ covers (``kvopt.engines.parts.tolerances``).
COVERED = 10_000


@pytest.mark.parametrize("seeds", in_two(range(150), 16))
def test_highs_proves_the_optimum_of_small_instances_at_any_memory(seeds: list[int]) -> None:
    """On 150 draws, M up to 10⁹, sums a token from M: TEL and bound are brute force's."""
    drawn = [(edge(seed), MIPS[seed % 5]) for seed in seeds]
    answers = solve_batch(drawn, seconds=120.0, poor_start=True)
    for (instance, name), answer in zip(drawn, answers, strict=True):
        optimum = brute_force_optimum(instance)
        assert (answer.tel, answer.bound) == (optimum, optimum), (instance, name)


def _memory(instance: Instance, states: tuple[int | None, ...]) -> int:
    """Return the tokens that requests hold with so many rounds left; None does not run."""
    held = (
        request.peak - d
        for request, d in zip(instance.requests, states, strict=True)
        if d is not None
    )
    return sum(held)


def _states(instance: Instance) -> Iterator[tuple[int | None, ...]]:
    choices = ((None, *range(request.output)) for request in instance.requests)
    yield from itertools.product(*choices)


def _weight(row: Row, states: tuple[int | None, ...]) -> int:
    total = 0
    for i, weights in row.weights:
        d = states[i]
        if d is not None and d < len(weights):
            total += weights[d]
    return total


def test_separating_rows_keep_every_state_that_fits() -> None:
    """Of every state of four requests at a time: what fits satisfies each row, the overflow not.

    With a small ``activity`` the rows are those of rounds left at most (3), with a large one those
    graded by the rounds left (2), and where requests never run together (1).
    """
    seen = set()
    for seed in range(60):
        draws = random.Random(seed)
        memory = draws.randint(6, 20)
        requests = []
        for i in range(4):
            output = draws.randint(1, 4)
            prompt = draws.randint(0, memory - output)
            requests.append(Request(i, 0, prompt, output))
        instance = Instance("states", memory, tuple(requests))
        every = list(_states(instance))
        fits = [states for states in every if _memory(instance, states) <= memory]
        for states in draws.sample(every, min(len(every), 25)):
            if (found := _minimal(instance, states)) is None:
                continue
            for activity in (4, 10**6):
                row = separating_row(instance, found, activity)
                largest = max(max(weights) for _, weights in row.weights)
                seen.add((activity, largest > 1))
                assert _weight(row, states) > row.most
                assert all(_weight(row, each) <= row.most for each in fits), (instance, row)
    assert seen >= {(4, False), (10**6, False), (10**6, True)}


def _minimal(instance: Instance, states: tuple[int | None, ...]) -> Overflow | None:
    """Return requests of these states that overflow, none of which is too many."""
    left = [(i, d) for i, d in enumerate(states) if d is not None]
    for size in range(1, len(left) + 1):
        for chosen in itertools.combinations(left, size):
            if sum(instance.requests[i].peak - d for i, d in chosen) > instance.memory:
                return Overflow(9, tuple(chosen))
    return None


def test_overflows_are_those_that_the_checker_sees() -> None:
    """A schedule overflows if and only if one is found, and each overflows without one to spare."""
    for seed in range(300):
        instance, draws = edge(seed), random.Random(seed)
        starts = [int(r.arrival) + draws.randint(0, 6) for r in instance.requests]
        valid = check_schedule(instance, make_schedule(instance, starts, "drawn")).valid
        found = overflows(instance, starts)
        assert bool(found) != valid, (instance, starts)
        for each in (other for overflow in found for other in alike(instance, overflow)):
            held = [instance.requests[i].peak - d for i, d in each.left]
            assert sum(held) > instance.memory >= sum(held) - min(held)


@pytest.mark.parametrize("name", [*MIPS, "ilp-sparse(groups=yes,lookahead=9)"])
def test_coarse_models_keep_feasible_schedules_and_stay_small(name: str) -> None:
    """R is at most what is covered, and feasible schedules satisfy all rows, added ones too."""
    program, given = program_of(name)
    for seed in range(20):
        instance, draws = edge(seed), random.Random(seed)
        windows = start_windows(instance)
        model = program.build(instance, windows, **given)
        known = list(one_at_a_time(instance).starts)
        program.set_starts(model, instance, known)
        unit = unit_of(program, instance, COVERED)
        coarsen(program, model, instance, unit, known)
        _assert_holds(model, COVERED)
        drawn = [_drawn(instance, windows, draws) for _ in range(12)]
        valid = [
            check_schedule(instance, make_schedule(instance, starts, "drawn")).valid
            for starts in drawn
        ]
        bad = [starts for starts, fits in zip(drawn, valid, strict=True) if not fits]
        assert bool(bad) == bool(bad and add_separating_rows(model, instance, bad, COVERED))
        _assert_holds(model, COVERED)
        for starts, fits in zip(drawn, valid, strict=True):
            assert fits == _separated_fits(model, starts), (instance, starts)


def _drawn(instance: Instance, windows: Windows, draws: random.Random) -> list[int]:
    """Return starts within the windows, some rounds after the arrivals."""
    return [
        min(windows.latest[i], windows.earliest[i] + draws.randint(0, 8))
        for i in range(len(instance))
    ]


def _assert_holds(model: Model, activity: int) -> None:
    """Assert that R is small enough, and that the values of the model satisfy all of its rows."""
    form = LinearStandardFormCompiler().write(model, mixed_form=True)
    assert largest_activity(form) <= activity
    values = [variable.value for variable in form.columns]
    for row, held, side in zip(form.rows, form.A @ values, form.rhs, strict=True):
        # Bound type 1 is row ≤ side, −1 is row ≥ side, 0 is row = side.
        assert row.bound_type > 0 or held >= side, row.constraint.name
        assert row.bound_type < 0 or held <= side, row.constraint.name


def _separated_fits(model: Model, starts: list[int]) -> bool:
    """Tell whether a schedule satisfies the rows that were added."""
    from pyomo.environ import value

    for (i, t), variable in model.x.items():
        variable.set_value(1 if starts[i] == t else 0)
    rows = model.component("separating")
    return rows is None or all(value(row.body) <= value(row.upper) for row in rows.values())


def test_nothing_changes_where_tokens_are_few() -> None:
    """A unit is one token where all peaks and twice M add up to what is covered."""
    instance = Instance("few", 1_000, tuple(Request(i, 0, 500, 5) for i in range(5)))
    assert unit_of(program_of("ilp")[0], instance, COVERED) == 1
    assert unit_of(program_of("ilp-sparse")[0], instance, COVERED) == 1
    # 5 · 505 = 2,525 tokens, with 2 · 1,000 more for balances 4,525.
    assert unit_of(program_of("ilp")[0], instance, 2_525) == 1
    assert unit_of(program_of("ilp")[0], instance, 2_524) == 2
    assert unit_of(program_of("ilp-sparse")[0], instance, 4_524) == 2
