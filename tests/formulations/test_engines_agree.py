"""The exact engines on drawn instances: our own search must not be its own witness."""

from __future__ import annotations

import random

import pytest

from instances import Instance, Request
from tests.engine_batch import solve_batch
from tests.oracles.draws import instance_of
from tests.tiers import in_two

ENGINES = ("layers", "bidirectional", "cpsat", "cpsat-strong")


def _drawn(seed: int) -> Instance:
    """Draw up to nine requests that crowd the memory, with arrivals or equal requests."""
    draws = random.Random(seed)
    memory = draws.randint(6, 30)
    kind = seed % 3
    requests: list[Request] = []
    for i in range(draws.randint(6, 9)):
        output = draws.randint(1, max(1, memory * 2 // 3))
        prompt = draws.randint(0, memory - output if kind else min(3, memory - output))
        arrival = 0 if kind == 1 else draws.choice([0, 0, draws.randint(0, memory)])
        if kind == 2 and i in (1, 2):
            first = requests[0]
            arrival, prompt, output = int(first.arrival), first.prompt, first.output
        requests.append(Request(i, arrival, prompt, output))
    return Instance(f"drawn_{seed}", memory, tuple(requests))


@pytest.mark.parametrize("seeds", in_two(range(60), 5))
def test_engines_agree_on_drawn_instances(seeds: list[int]) -> None:
    """All prove the same optimum on 60 draws with up to nine requests."""
    drawn = [_drawn(seed) for seed in seeds]
    pairs = [(instance, engine) for instance in drawn for engine in ENGINES]
    answers = iter(solve_batch(pairs))
    for instance in drawn:
        found = [next(answers) for _ in ENGINES]
        assert len({(answer.tel, answer.bound) for answer in found}) == 1, instance
        assert found[0].tel == found[0].bound, instance


@pytest.mark.parametrize(
    ("memory", "requests", "optimum"),
    [
        (21, [(0, 15, 6), (0, 10, 4), (0, 5, 3), (0, 9, 12), (0, 7, 12), (0, 2, 9)], 101),
        (
            25,
            [
                (0, 3, 14), (0, 6, 9), (0, 20, 3), (0, 18, 6),
                (0, 9, 15), (0, 19, 5), (0, 14, 9), (0, 4, 6),
            ],
            199,
        ),
        (
            9,
            [
                (4, 8, 1), (4, 8, 1), (4, 8, 1), (0, 2, 5), (7, 1, 1),
                (4, 2, 4), (0, 2, 4), (0, 6, 1), (4, 0, 5),
            ],
            52,
        ),
    ],
)  # fmt: skip
def test_states_merged_with_what_another_holds(
    memory: int, requests: list[tuple[int, int, int]], optimum: int
) -> None:
    """A cheaper equal state must bring its own tokens: the search once proved 103, 202 and 54."""
    instance = instance_of(memory, *requests)
    for answer in solve_batch([(instance, engine) for engine in ENGINES]):
        assert (answer.tel, answer.bound) == (optimum, optimum)
