"""Memory as rows on sets of requests: exact at any M; without them no word of HiGHS counts."""

import itertools
import json
import random

import pytest

from formulations.mip import _rows_on_sets
from tests.engine_batch import solve_batch
from tests.kvopt.sweep_tools import in_fork
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import edge, instance_of
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


#: Run in a process of its own, which loads HiGHS: what it says where there are no rows on sets.
_WITHOUT = """
import json
from formulations.mip import _rows_on_sets
from kvopt.engines import highs
from kvopt.engines.start import run_engine
from kvopt.runs.events import EventReport
from tests.engine_batch import _answer, engine_task, one_at_a_time
from tests.formulations.test_sets import MIPS, WITHOUT
from tests.oracles.draws import edge

_rows_on_sets.REQUESTS_UP_TO, found = 0, []
for seed in WITHOUT:
    known = list(one_at_a_time(edge(seed)).starts)
    task = engine_task(edge(seed), f"highs:{MIPS[seed % 5]}", 60.0, known)
    events = []
    run_engine(highs, task.method, task, EventReport(events.append))
    answer = _answer(task, events)
    found.append((answer.tel, answer.bound))
print(json.dumps(found))
"""
WITHOUT = range(200, 230)


def test_highs_says_nothing_wrong_without_rows_on_sets() -> None:
    """On 30 draws no schedule overflows, and no bound is above brute force's optimum."""
    found = json.loads(in_fork(_WITHOUT))
    for seed, (tel, bound) in zip(WITHOUT, found, strict=True):
        assert bound <= brute_force_optimum(edge(seed)) <= tel, edge(seed)


def test_rows_hold_exactly_where_memory_suffices() -> None:
    """In every state of four requests at a time, of those that run and those that do not."""
    for seed in range(120):
        draws = random.Random(seed)
        memory = draws.randint(6, 20)
        outputs = [draws.randint(1, 4) for _ in range(4)]
        prompts = [draws.randint(0, memory - output) for output in outputs]
        instance = instance_of(memory, *zip([0] * 4, prompts, outputs, strict=True))
        found = _rows_on_sets.rows_on_sets(instance, COVERED)
        assert found is not None
        for left in itertools.product(*((None, *range(output)) for output in outputs)):
            running = [(i, d) for i, d in enumerate(left) if d is not None]
            held = sum(instance.requests[i].peak - d for i, d in running)
            holds = [
                sum(own[i][d] for i, d in running if i in own and d < len(own[i])) <= most
                for own, most in found
            ]
            assert all(holds) == (held <= memory), (instance, left)


def test_no_rows_where_they_are_many_or_their_numbers_large() -> None:
    """Eleven requests, or two that overflow by 5,001 tokens: 10,002 in a row."""
    many = instance_of(10**9, *[(0, 10**8, 2)] * 11)
    assert _rows_on_sets.rows_on_sets(many, COVERED) is None
    for excess in (5_000, 5_001):
        pair = (0, 10**8, 10**4), (0, 10**8 - 2 * 10**4 + excess, 10**4)
        found = _rows_on_sets.rows_on_sets(instance_of(2 * 10**8, *pair), COVERED)
        assert (found is None) == (excess == 5_001)
