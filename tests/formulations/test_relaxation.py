"""Backward dynamic programming with dominance against brute force: no bound is too high."""

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate, sweep_certificate
from formulations.certificates.reader_budget import CertificateError
from formulations.dp import backward_sweep as level_module
from formulations.dp import dominance
from formulations.dp.backward_sweep import Level, SearchLimits
from formulations.dp.priced_network import Ints, PricedNetwork, network
from formulations.dp.state_relaxation import EvaluatedMultipliers, SearchTuning, StateRelaxation
from kvopt.engines.parts import multiplier_ascent
from kvopt.engines.parts.multiplier_ascent import Ascent
from schedules import check_schedule, make_schedule
from tests.formulations.relaxed import (
    UNLIMITED,
    one_case,
    random_instance,
    random_multipliers,
    random_prices,
)
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of
from tests.tiers import a_few

#: Prices of 0.
FREE = (np.zeros(2, dtype=np.int64), 1 << 10)
SIX = instance_of(20, *((0, *row) for row in ((2, 9), (0, 4), (3, 7), (2, 2), (1, 8), (0, 5))))


@pytest.mark.parametrize("part", a_few(range(6), 2))
def test_no_bound_is_above_the_optimum(part: int) -> None:
    """Arrivals, equal requests, random prices and multipliers: 300 draws."""
    bounds = [one_case(seed)[:2] for seed in range(50 * part, 50 * part + 50)]
    assert any(bound == optimum for bound, optimum in bounds)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("bits", "most"), [(8, 9), (16, 20_000), (32, 2_000_000_000)])
def test_what_is_dropped_is_what_an_earlier_row_is_below_of(
    bits: int, most: int, ordered: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small blocks, so that there are trees of several sizes, as by comparing all pairs."""
    small = {"BLOCK": 32, "TREE_FROM": 64, "PARTED_FROM": 8, "ORDERED_FROM": 1 if ordered else 9999}
    for name, value in small.items():
        monkeypatch.setattr(dominance, name, value)
    rng = np.random.default_rng(bits)
    lanes = rng.integers(0, most, (1_500, 11)).astype(np.uint64)
    lanes[:, 4] = 3
    lanes[rng.integers(0, 1_500, 300)] += 1
    below = (lanes[:, None] <= lanes[None]).all(axis=2)
    expected = np.triu(below, 1).any(axis=0)
    pool = ThreadPoolExecutor(2) if threads == 2 else None
    dropped = dominance.dropped(dominance._packed(lanes, bits), bits, pool)
    assert dropped.tolist() == expected.tolist()
    assert expected.any()
    assert not expected.all()


def test_bases_are_sorted_by_one_number_or_two() -> None:
    """Of equal ones the first comes first, whether both numbers fit into one or not."""
    rng = np.random.default_rng(5)
    for wide in (1, 1 << 50):
        for size in (0, 1, 2, 500):
            own, sums = wide * rng.integers(-40, 40, size), rng.integers(0, 9, size)
            expected = np.lexsort((sums, own))
            assert dominance.sorted_places(own, sums).tolist() == expected.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_little_memory_proves_nothing_less_and_nothing_more(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of small chunks any may be cut short: then there is no bound, else that of all memory."""
    monkeypatch.setattr(level_module, "LEAST_CHUNK", 1)
    monkeypatch.setattr(level_module, "CHUNK", 3)
    reasons: list[str] = []
    for seed in range(12):
        rng = random.Random(seed)
        instance = random_instance(rng)
        optimum = brute_force_optimum(instance)
        under = network(instance, random_prices(rng, instance))
        own = random_multipliers(rng, len(under.kinds.counts))
        relaxed = StateRelaxation(under, optimum + 9)
        whole = relaxed.evaluate(own, optimum + 8, UNLIMITED)
        assert whole.bound is not None
        assert whole.bound <= optimum
        for memory in np.geomspace(300, 60_000, 12):
            found = relaxed.evaluate(own, optimum + 8, SearchLimits(threads, memory, lambda: False))
            reasons.append(found.reason)
            if found.reason:
                assert (found.bound, found.least, found.paths) == (None, None, None)
            else:
                assert found.bound == whole.bound
    assert 25 < reasons.count("memory") < len(reasons) - 25


def test_what_is_kept_of_each_level_counts_as_memory() -> None:
    """As much as its listener says, which here keeps a hundred times what levels take."""
    instance = instance_of(9, *((0, i, 4) for i in range(3)))
    under = network(instance, FREE)
    told: list[int] = []

    def keep(t: int, _: Level) -> int:
        told.append(t)
        return 10**8

    limits = SearchLimits(1, 3.5e8, lambda: False)
    found = StateRelaxation(under, 20).sweep(np.zeros(3, dtype=np.int64), 19, limits, keep)
    assert found.reason == "memory"
    assert len(told) == 4


def _ascent(
    under: PricedNetwork,
    below: int,
    on_bound: Any = lambda *_: None,
    on_schedule: Any = lambda _: None,
    bound: int | None = None,
    **tuning: float,
) -> Ascent:
    """Return an ascent with all memory, from the bound of the prices where no other is given."""
    return Ascent(
        under,
        below=below,
        bound=under.bound if bound is None else bound,
        limits=UNLIMITED,
        on_bound=on_bound,
        on_schedule=on_schedule,
        tuning=SearchTuning(**tuning),  # type: ignore[arg-type]
    )


def test_windows_that_do_not_fit_are_not_swept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the bound known is above what is expected, which no window can reach."""
    under = network(SIX, FREE)
    evaluate_all, targets = StateRelaxation.evaluate, list[int]()

    def evaluate_beams(relaxed: StateRelaxation, own: Ints, target: int, *more: Any) -> Any:
        limits, beam, _ = more
        if beam is not None:
            return evaluate_all(relaxed, own, target, limits, beam)
        targets.append(target)
        return EvaluatedMultipliers(None, None, None, 0, "memory")

    monkeypatch.setattr(StateRelaxation, "evaluate", evaluate_beams)
    for bound in (under.bound, 118):
        targets.clear()
        _ascent(under, 120, bound=bound).run(2.0)
        assert targets
        assert all(after < before for before, after in pairwise(targets))


def test_a_window_becomes_narrower_where_time_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a share of each level, once a level has told what a base takes; all stay where it does."""
    now = 0.0
    monkeypatch.setattr(multiplier_ascent, "time", SimpleNamespace(monotonic=lambda: now))
    pace, slow = multiplier_ascent._Pace(100.0, 0.2), multiplier_ascent._Pace(1000.0, 0.2)
    assert (pace(50, 10), slow(50, 10)) == (10, 10)
    now = 10.0
    # A second each: 0.2 · 49 · 10 s are more than the 90 that are left, but less than 990.
    assert (pace(49, 10), slow(49, 10)) == (9, 10)
    now = 80.0
    # Of the times between nothing is known, so a base takes a second still: 0.2 · 9 · 20 > 20.
    assert (pace(9, 20), slow(9, 20)) == (14, 20)
    now = 200.0
    # Too late by now: a last base stays, and there may be none, and no time below.
    assert [pace(8, 10), pace(7, 1), pace(6, 0), pace(0, 1)] == [7, 1, 0, 1]


@pytest.mark.parametrize(("begin", "first"), [(0.0, 0.4), (0.3, 1e-9), (0.0, 1e-9)])
def test_windows_prove_something_where_beams_or_time_do_not_do(begin: float, first: float) -> None:
    """With no time for beams there are exact windows; a first one that is too short is no harm."""
    optimum = brute_force_optimum(SIX)
    under = network(SIX, FREE)
    found = _ascent(under, optimum + 2, begin_share=begin, first_share=first)
    found.run(3.0)
    assert under.bound < found.bound <= optimum


@pytest.mark.parametrize("latest", [0, 6])
def test_multipliers_raise_the_bound_and_are_certified(latest: int) -> None:
    """Without prices the bound is raised far above the sum of the outputs, and never too far."""
    rows = [(i % 2 * latest, 1 + i % 3, 2 + i) for i in range(6)]
    instance = instance_of(11, *rows)
    optimum = brute_force_optimum(instance)
    found: list[tuple[int, Ints]] = []
    under = network(instance, FREE)
    _ascent(under, optimum + 2, lambda bound, own, _: found.append((bound, own))).run(20.0)
    bound, own = found[-1][0], found[-1][1].tolist()
    assert sum(o for *_, o in rows) < bound <= optimum
    assert bound >= optimum - 2
    right, wrong = (sweep_certificate(each, FREE, own, ()) for each in (bound, optimum + 1))
    assert evaluate_certificate(instance, read_certificate(right)) == bound
    with pytest.raises(CertificateError):
        evaluate_certificate(instance, read_certificate(wrong))


@pytest.mark.parametrize(
    ("memory", "sizes"), [(11, [(9, 1)]), (13, [(2, 3)] * 6), (4, [(0, 1), (1, 1), (1, 1), (0, 4)])]
)
def test_a_first_path_that_is_a_schedule_is_told(memory: int, sizes: list[tuple[int, int]]) -> None:
    """Then no multipliers are better, and the bundle has nowhere to go."""
    instance = instance_of(memory, *((0, *each) for each in sizes))
    optimum = brute_force_optimum(instance)
    told: list[list[int]] = []
    ascent = _ascent(network(instance, FREE), optimum + 1, on_schedule=told.append)
    ascent.run(10.0)
    assert ascent.bound <= optimum
    for starts in told:
        assert check_schedule(instance, make_schedule(instance, starts, "path")).valid
    if len(sizes) == 1:
        assert told[0] == [0]
