"""Random instances with random prices and multipliers, and what dominance proves of them."""

import random

import numpy as np

from formulations.dp.backward_sweep import SearchLimits
from formulations.dp.priced_network import Ints, PricedNetwork, network
from formulations.dp.state_relaxation import EvaluatedMultipliers, StateRelaxation
from formulations.dp.sweep_paths import SweepPaths, entries, priced, starts_of
from formulations.lagrangian.state_prices import StatePrices
from instances import Instance
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of

#: Units of a round.
UNIT = 64
UNLIMITED = SearchLimits(1, 1e9, lambda: False)
#: With so little memory levels are made one by one, as where they are wide.
LEVEL_BY_LEVEL = SearchLimits(1, 4e6, lambda: False)


def random_instance(
    rng: random.Random, requests: tuple[int, int] = (2, 6), memories: tuple[int, int] = (5, 14)
) -> Instance:
    """Return a few requests, of a third of the draws with arrivals, some of them equal."""
    memory = rng.randint(*memories)
    latest = rng.choice((0, 0, 8))
    sizes: list[tuple[int, int, int]] = []
    for _ in range(rng.randint(*requests)):
        output = rng.randint(1, min(memory, 7))
        prompt = rng.randint(0, min(memory - output, 4))
        drawn = rng.randint(0, latest), prompt, output
        sizes.append(rng.choice(sizes) if sizes and rng.random() < 0.2 else drawn)
    return instance_of(memory, *sizes)


def random_prices(rng: random.Random, instance: Instance) -> StatePrices | tuple[Ints, int]:
    """Return prices that fall with time, on memory or on states, some of them none at all."""
    horizon = int(instance.arrivals.max() + instance.outputs.sum())
    scale = rng.choice((0.0, 0.3, 0.8, 1.2)) * len(instance) / instance.memory
    last = rng.randint(2, horizon + 2)
    falling = [UNIT * scale * max(1 - t / last, 0) for t in range(last + 1)]
    if rng.random() < 0.4:
        return np.rint([rng.uniform(0.7, 1.3) * each for each in falling]).astype(np.int64), UNIT
    knots = np.array(sorted({1, rng.randint(2, last + 1), last + 2}))
    tokens, left = np.array([0, rng.randint(1, 6), 30]), np.array([0, rng.randint(1, 4), 30])
    table = [
        [[int(falling[min(t, last)] * w * rng.uniform(0.7, 1.3)) for _ in left] for w in tokens]
        for t in knots.tolist()
    ]
    return StatePrices(knots, tokens, left, np.array(table, dtype=np.int64), UNIT)


def random_multipliers(rng: random.Random, kinds: int) -> Ints:
    """Return numbers of both signs, some of them more than any request waits."""
    most = rng.choice((0, UNIT // 8, UNIT, 10 * UNIT))
    return np.array([rng.randint(-most, most) for _ in range(kinds)], dtype=np.int64)


def one_case(seed: int) -> tuple[int, int, int]:
    """Check one draw; return the bound, the optimum and the bases that were made."""
    rng = random.Random(seed)
    instance = random_instance(rng)
    optimum = brute_force_optimum(instance)
    found = network(instance, random_prices(rng, instance))
    assert found.bound <= optimum, seed
    multipliers = random_multipliers(rng, len(found.kinds.counts))
    below = optimum + rng.randint(1, 4)
    relaxed = StateRelaxation(found, below)
    whole = relaxed.evaluate(multipliers, below - 1, UNLIMITED)
    assert whole.bound is not None
    assert whole.bound <= optimum, seed
    for target in {found.bound - 1, rng.randint(found.bound - 1, below - 1), optimum - 1}:
        part = relaxed.evaluate(multipliers, target, UNLIMITED)
        # In a narrower window fewer starts are within it, so it may prove more.
        assert part.bound is not None
        assert min(whole.bound, target + 1) <= part.bound <= optimum, seed
        _check_narrowed(relaxed, multipliers, target, optimum, rng)
    beam = relaxed.evaluate(multipliers, below - 1, UNLIMITED, beam=rng.randint(1, 9))
    assert beam.bound is None
    assert beam.least is None or whole.least is None or beam.least >= whole.least, seed
    _check_path(instance, found, whole, multipliers, optimum)
    return whole.bound, optimum, whole.nodes


def _check_narrowed(
    relaxed: StateRelaxation, multipliers: Ints, target: int, optimum: int, rng: random.Random
) -> None:
    """A window that becomes narrower proves what one of its width does, or what a path says."""
    told: list[tuple[int, int]] = []

    def most(t: int, bases: int) -> int:
        told.append((t, bases))
        return rng.randint(0, 4)

    found = relaxed.evaluate(multipliers, target, LEVEL_BY_LEVEL, most=most)
    assert found.bound is not None
    assert found.bound <= min(optimum, target + 1)
    assert told == sorted(told, reverse=True)
    if found.least is None:
        again = relaxed.evaluate(multipliers, found.bound - 1, UNLIMITED)
        assert again.least is None
        assert again.bound == found.bound


def _check_path(
    instance: Instance,
    found: PricedNetwork,
    whole: EvaluatedMultipliers,
    multipliers: Ints,
    optimum: int,
) -> None:
    """A least path has the length that was told, and is optimal where it is a schedule."""
    paths: SweepPaths | None = whole.paths
    if whole.least is None:
        return
    assert paths is not None
    best = priced(paths, multipliers, found.kinds.counts)
    assert best.value == whole.least
    if np.array_equal(entries(paths, best.path, len(found.kinds.counts)), found.kinds.counts):
        schedule = make_schedule(instance, starts_of(found.kinds, paths, best.path), "relaxation")
        assert check_schedule(instance, schedule).valid
        assert schedule.tel == whole.bound == optimum
