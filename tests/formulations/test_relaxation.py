"""Backward dynamic programming with dominance against brute force: no bound is too high."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from formulations.bounds.bundle import Bundle, Cut, Floats
from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import (
    CertificateError,
    read_certificate,
    sweep_certificate,
)
from formulations.search import _dominance
from formulations.search._backward_levels import Limits
from formulations.search._backward_tables import Ints, network
from formulations.search._dominance import Dominance
from instances import Instance, Request
from kvopt.engines.parts.ascent import Ascent
from schedules import check_schedule, make_schedule
from tests.formulations.relaxed import one_case
from tests.oracles.brute_force import brute_force_optimum
from tests.tiers import a_few


@pytest.mark.parametrize("part", a_few(range(6), 2))
def test_no_bound_is_above_the_optimum(part: int) -> None:
    """Arrivals, equal requests, strict kinds, random prices and multipliers: 300 draws."""
    bounds = [one_case(seed)[:2] for seed in range(50 * part, 50 * part + 50)]
    assert any(bound == optimum for bound, optimum in bounds)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bits", [8, 16])
def test_what_is_dropped_is_what_an_earlier_row_is_below_of(
    bits: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small blocks, so that there are trees of several sizes, as by comparing all pairs."""
    for name, value in (("BLOCK", 32), ("TREE_FROM", 64), ("PARTED_FROM", 8)):
        monkeypatch.setattr(_dominance, name, value)
    rng = np.random.default_rng(bits)
    lanes = rng.integers(0, 9 if bits == 8 else 20_000, (1_500, 11)).astype(np.uint64)
    lanes[rng.integers(0, 1_500, 300)] += 1
    below = (lanes[:, None] <= lanes[None]).all(axis=2)
    expected = np.triu(below, 1).any(axis=0)
    nothing = np.zeros((0, 0), dtype=np.int64)
    rule = Dominance(nothing, _dominance._packed(lanes, bits), nothing.ravel(), bits)
    pool = ThreadPoolExecutor(2) if threads == 2 else None
    dropped = _dominance._dropped(rule.profiles, rule, pool)
    assert dropped.tolist() == expected.tolist()
    assert expected.any()
    assert not expected.all()


def test_a_bundle_climbs_to_the_top() -> None:
    """-|v - a| is 0 at a, and its cuts are sums of signs."""
    top = np.array([3.0, -20.0, 0.5])

    def cut(point: Floats) -> tuple[float, Cut]:
        slope: Ints = np.where(point > top, -1, 1).astype(np.int64)
        return -float(np.abs(point - top).sum()), (float(-slope @ top), slope)

    bundle = Bundle(3, 100.0)
    value, first = cut(bundle.centre)
    bundle.begin(value, first)
    for _ in range(60):
        point = bundle.propose(lambda _: [])
        assert point is not None
        value, found = cut(point)
        bundle.add(found)
        assert bundle.model(point) == pytest.approx(value)
        bundle.take(point, value)
    assert bundle.value > -0.1


@pytest.mark.parametrize("latest", [0, 6])
def test_multipliers_raise_the_bound_and_are_certified(latest: int) -> None:
    """Without prices the bound is raised far above the sum of the outputs, and never too far."""
    rows = [(i % 2 * latest, 1 + i % 3, 2 + i) for i in range(6)]
    instance = Instance("six", 11, tuple(Request(i, *row) for i, row in enumerate(rows)))
    optimum = brute_force_optimum(instance)
    free = (np.zeros(2, dtype=np.int64), 1 << 10)
    found: list[tuple[int, list[int]]] = []
    under = network(instance, free)
    ascent = Ascent(
        under,
        below=optimum + 2,
        bound=under.bound,
        limits=Limits(1, 1e9, lambda: False),
        on_bound=lambda bound, own, _: found.append((bound, own.tolist())),
        on_schedule=lambda _: None,
    )
    ascent.run(20.0)
    bound, own = found[-1]
    assert sum(o for *_, o in rows) < bound <= optimum
    assert bound >= optimum - 2
    assert evaluate(instance, read_certificate(sweep_certificate(bound, free, own, ()))) == bound
    with pytest.raises(CertificateError):
        evaluate(instance, read_certificate(sweep_certificate(optimum + 1, free, own, ())))


@pytest.mark.parametrize(
    ("memory", "sizes"), [(11, [(9, 1)]), (13, [(2, 3)] * 6), (4, [(0, 1), (1, 1), (1, 1), (0, 4)])]
)
def test_a_first_path_that_is_a_schedule_is_told(memory: int, sizes: list[tuple[int, int]]) -> None:
    """Then no multipliers are better, and the bundle has nowhere to go."""
    instance = Instance("few", memory, tuple(Request(i, 0, *each) for i, each in enumerate(sizes)))
    optimum = brute_force_optimum(instance)
    under = network(instance, (np.zeros(2, dtype=np.int64), 1 << 10))
    told: list[list[int]] = []
    ascent = Ascent(
        under,
        below=optimum + 1,
        bound=under.bound,
        limits=Limits(1, 1e9, lambda: False),
        on_bound=lambda *_: None,
        on_schedule=told.append,
    )
    ascent.run(10.0)
    assert ascent.bound <= optimum
    for starts in told:
        assert check_schedule(instance, make_schedule(instance, starts, "path")).valid
    if len(sizes) == 1:
        assert told[0] == [0]
