"""Dominance between states of different requests, by all completions of small instances."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.dp import forward
from formulations.dp.state_dominance import StateDominance
from instances import Instance, Request
from tests.formulations.forward_pass import pass_of
from tests.formulations.relaxed import random_instance
from tests.oracles.brute_force import brute_force_optimum
from tests.tiers import a_few

#: Starts of requests, None where it has not started.
State = tuple[int | None, ...]


def _drawn(rng: random.Random) -> Instance:
    """Return three or four requests, often of the same prompt."""
    memory = rng.randint(7, 11)
    prompts = [rng.randint(0, 3) for _ in range(2)]
    requests = []
    for i in range(rng.randint(3, 4)):
        prompt = rng.choice(prompts)
        requests.append(Request(i, rng.choice((0, 0, 2, 5)), prompt, rng.randint(1, 4)))
    return Instance("drawn", memory, tuple(requests))


def _held(instance: Instance, state: State, until: int) -> list[int]:
    held = [0] * until
    for start, request in zip(state, instance.requests, strict=True):
        if start is not None:
            for j in range(1, request.output + 1):
                held[start + j] += request.prompt + j
    return held


def _states(instance: Instance, t: int, until: int) -> list[State]:
    """Return all feasible choices of starts before t."""
    found: list[State] = [()]
    for request in instance.requests:
        own = [None, *range(int(request.arrival), t)]
        found = [(*state, start) for state in found for start in own]
    whole = len(instance)
    return [
        state for state in found
        if len(state) == whole and max(_held(instance, state, until)) <= instance.memory
    ]  # fmt: skip


def _best(instance: Instance, state: State, t: int, until: int) -> int:
    """Return the least sum of starts of all completions."""

    @cache
    def best(state: State) -> int:
        if None not in state:
            return sum(start for start in state if start is not None)
        i = state.index(None)
        request, least = instance.requests[i], 1 << 30
        for start in range(max(t, int(request.arrival)), until - request.output):
            longer = (*state[:i], start, *state[i + 1 :])
            if max(_held(instance, longer, until)) <= instance.memory:
                least = min(least, best(longer))
        return least

    return best(state)


def _layer(instance: Instance, pair: list[State], t: int, reach: int) -> tuple[NDArray[Any], ...]:
    held = [_held(instance, state, t + reach + 40)[t + 1 : t + 1 + reach] for state in pair]
    masks = [sum(1 << i for i, start in enumerate(state) if start is not None) for state in pair]
    starts = [[start or 0 for start in state] for state in pair]
    nothing = np.zeros(len(pair), dtype=np.int64)
    return (
        np.array(masks, dtype=np.uint64), nothing, nothing,
        np.array(starts, dtype=np.int16), np.array(held, dtype=np.int16),
    )  # fmt: skip


@pytest.mark.parametrize("seeds", a_few([range(6), range(6, 75)], 1), ids=len)
def test_what_dominates_has_a_completion_as_good(seeds: range) -> None:
    """Arrivals, equal requests, shared prompts: random pairs of states of one time."""
    dropped = of_others = 0
    for seed in seeds:
        rng = random.Random(seed)
        instance = _drawn(rng)
        t, reach = rng.randint(1, 6), int(instance.outputs.max())
        until = max(t, int(instance.arrivals.max())) + int(instance.outputs.sum()) + 2
        states = _states(instance, t, until)
        compared = StateDominance(instance, reach)
        for _ in range(60):
            pair = [rng.choice(states) for _ in range(2)]
            layer = _layer(instance, pair, t, reach)
            alive = compared.undominated(t, layer, 2, None)
            assert alive.any()
            if alive.all():
                continue
            kept, gone = (pair[int(np.flatnonzero(alive == each)[0])] for each in (True, False))
            best = [_best(instance, each, t, until) for each in (kept, gone)]
            assert best[0] <= best[1], (seed, t, pair)
            dropped += 1
            of_others += layer[0][0] != layer[0][1]
    assert dropped > 6 * len(seeds)
    assert of_others > 2 * len(seeds)


@pytest.mark.parametrize("part", range(2))
def test_passes_that_compare_every_layer_find_the_optimum(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every layer, whenever it is full, on one thread and on two; narrow passes bound."""
    monkeypatch.setattr(forward, "GROWN", 0.0)
    complete = 0
    for seed in range(30 * part, 30 * part + 30):
        rng = random.Random(seed)
        instance = random_instance(rng)
        optimum = brute_force_optimum(instance)
        for width in (rng.randint(1, 6), rng.randint(7, 40), 5_000):
            found = pass_of(instance, width, threads=rng.randint(1, 2))
            assert found.bound <= optimum <= found.tel, (seed, width)
            complete += found.complete and width < 40
        assert found.complete
        assert found.tel == optimum, seed
    assert complete > 20
