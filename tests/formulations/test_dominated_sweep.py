"""Certificates of sweeps with dominance against brute force, and sweeps that drop nothing."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations.certificates import reader_budget as limits
from formulations.certificates import sweep_filter as backward_filter
from formulations.certificates import sweep_kernels as backward_kernels
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import (
    Certificate,
    certificate_document,
    read_certificate,
    sweep_certificate,
)
from formulations.certificates.reader_budget import CertificateError
from formulations.certificates.sweep_tables import PricedStates
from instances import Instance, Request
from tests.formulations.relaxed import random_instance
from tests.kernel_parts import from_python
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.dominance_free import least_proved
from tests.oracles.draws import instance_of
from tests.tiers import a_few


def _counts(instance: Instance) -> list[int]:
    number = Counter((int(r.arrival), r.prompt, r.output) for r in instance.requests)
    return [number[kind] for kind in sorted(number)]


def _certificate(rng: random.Random, instance: Instance) -> Certificate:
    """Draw prices on memory that fall, or any, or on states; multipliers; strict kinds."""
    unit, counts = rng.choice([1, 4, 16]), _counts(instance)
    horizon = sum(r.output for r in instance.requests)
    fall = [max(0, unit * (horizon - 2 * t) // instance.memory) for t in range(horizon)]
    memory, states = fall, None
    if (drawn := rng.random()) < 0.3:
        memory = [rng.randint(0, unit) for _ in range(rng.randint(0, horizon + 2))]
    elif drawn < 0.6:
        memory, grid = [], (0, rng.randint(1, 4), 20)
        table = [
            int(fall[min(t, horizon - 1)] * w * rng.choice([0.8, 1, 1.3]))
            for t in (1, 3 + horizon) for w in grid for _ in grid
        ]  # fmt: skip
        states = PricedStates((1, 3 + horizon), grid, grid, tuple(table))
    wide = rng.choice([unit, 3 * unit, 20 * unit])
    multipliers = [rng.randint(-wide, wide) for _ in counts] if rng.random() < 0.7 else []
    strict = [g for g, n in enumerate(counts) if n == 1 and rng.random() < 0.5]
    return Certificate(
        "sweep", 0, denominator=unit, memory=tuple(memory), states=states,
        multipliers=tuple(multipliers), strict=tuple(strict),
    )  # fmt: skip


def _proves(instance: Instance, certificate: Certificate, value: int) -> bool:
    try:
        return evaluate_certificate(instance, replace(certificate, value=value)) == value
    except CertificateError as error:
        if "leaves paths" in str(error):
            return False
        raise


@pytest.mark.parametrize("seed", a_few(range(3), 1))
def test_nothing_above_the_optimum_is_proved(seed: int) -> None:
    """Any prices, multipliers and strict kinds: the optimum at most, and sometimes that."""
    rng = random.Random(seed)
    proved, draws = 0, 60 if seed else 12
    for _ in range(draws):
        instance = random_instance(rng, (4, 5), (6, 14))
        optimum = brute_force_optimum(instance)
        for _ in range(3):
            certificate = _certificate(rng, instance)
            proved += _proves(instance, certificate, optimum)
            for above in (1, rng.randint(2, 12)):
                assert not _proves(instance, certificate, optimum + above), certificate
    assert proved >= draws // 12


@pytest.mark.parametrize("draws", a_few((30, 80), 1))
def test_dominance_drops_no_path_that_counts(draws: int) -> None:
    """Without multipliers as much is proved as without dominance, without strict kinds exactly."""
    rng = random.Random(7)
    equal = 0
    for _ in range(draws):
        instance = random_instance(rng, (2, 4), (4, 8))
        drawn = _certificate(rng, instance)
        certificate = replace(drawn, states=None, memory=drawn.memory[:8])
        multipliers = certificate.multipliers or (0,) * len(_counts(instance))
        low, high = (
            least_proved(instance, certificate.memory, certificate.denominator, multipliers, each)
            for each in ((), certificate.strict or ())
        )
        optimum = brute_force_optimum(instance)
        best = max(v for v in range(optimum + 3) if not v or _proves(instance, certificate, v))
        assert low <= best <= (optimum if certificate.multipliers else high), certificate
        equal += low == best < optimum
    assert equal >= draws // 3


def _level(rng: np.random.Generator, number: int, kinds: int) -> tuple[Any, Any, Any]:
    """Return a level of random bases, its states, and the bases; less held is a higher label."""
    outputs = rng.integers(3, 12, kinds)
    first = np.cumsum(outputs) - outputs
    ages = np.arange(int(outputs.sum())) - np.repeat(first, outputs) + 1
    of = np.repeat(np.arange(kinds), outputs)
    tokens = np.repeat(rng.integers(1, 9, kinds), outputs) + ages
    bases = [np.sort(rng.integers(0, len(ages), rng.integers(3, 6))) for _ in range(number)]
    offsets = np.cumsum([0, *(len(each) for each in bases)])
    members = np.concatenate(bases).astype(np.int32)
    weights = np.array([int((tokens[each] * ages[each]).sum()) for each in bases])
    labels = 10_000 - 2 * weights + rng.integers(0, 40, number)
    return (members, offsets, labels), (ages, tokens, of), bases


@pytest.mark.parametrize(("number", "before"), [(1, 0), (40, 0), (6_000, 0), (6_000, 62)])
def test_the_filter_compares_all_pairs(number: int, before: int) -> None:
    """What stays is what no base before it in the order of σ dominates, in trees and beside.

    With 62 strict kinds before, which no base has, the others are in two words of a mask.
    """
    rng = np.random.default_rng(number)
    level, states, bases = _level(rng, number, 12)
    ages, tokens, of = states
    longest = int(ages[level[0]].max(initial=1))
    strict = np.where(np.arange(12) % 3 == 0, np.arange(12) // 3 + before, -1)
    pay = rng.integers(0, 3, (20, len(ages)))
    t = 25
    sigma, weight, signs, masks = backward_filter.measured(
        level, states, pay, t, 400, strict, longest
    )
    held = np.zeros((number, longest), dtype=np.int64)
    own = np.zeros((number, 12), dtype=bool)
    for b, base in enumerate(bases):
        paid = 0
        for state in base.tolist():
            own[b, of[state]] |= strict[of[state]] >= 0
            for k in range(int(ages[state])):
                held[b, k] += tokens[state - k]
                paid += int(pay[t - k, state - k]) if t - k < len(pay) else 0
        assert sigma[b] == level[2][b] - paid
    assert (weight == held.sum(axis=1)).all()
    order = np.lexsort((weight, sigma))
    which, steps, _ = backward_filter.undominated(
        level, states, order, signs, masks, longest, 10**12, 10**9
    )
    kept: list[int] = []
    for b in order.tolist():
        no_more = (held[kept] <= held[b]).all(axis=1) & ~(own[kept] & ~own[b]).any(axis=1)
        if not no_more.any():
            kept.append(b)
    assert which.tolist() == kept
    assert number < 100 or backward_filter.FEW < len(kept) < number
    for most in ((-1, 10**9), (10**12, 0)):
        given_up = backward_filter.undominated(level, states, order, signs, masks, longest, *most)
        assert len(given_up[0]) == 0
        assert given_up[1] > most[0] or given_up[2] > most[1]
    assert steps > 0 or number == 1


def test_bases_of_one_key_stay_apart() -> None:
    """A table whose slots are all taken makes rows of their own, and compares members exactly."""
    members = np.array([1, 2, 1, 3, 1, 2], dtype=np.int32)
    offsets, hashes = np.array([0, 2, 4, 6]), np.full(3, 5, dtype=np.uint64)
    slots = np.full(128, -1, dtype=np.int64)
    slots[5:7] = 0, 1
    key = np.uint64(5)
    slot_of = from_python(backward_kernels.slot_of)
    assert slot_of(slots, hashes, offsets, members, key, 4, 6) == 5
    slots[5] = 1
    assert slot_of(slots, hashes, offsets, members, key, 4, 6) == 7
    slots[:] = 1
    assert slot_of(slots, hashes, offsets, members, key, 4, 6) == -1


#: (0, 3, 4) and (0, 3, 5) with M = 8 never run together: OPT = 4 + 9 = 13.
PAIR = instance_of(8, (0, 3, 4), (0, 3, 5))


def test_a_certificate_in_a_file() -> None:
    """The pair needs multipliers; the strict kinds are kept, none being another certificate.

    Without prices each request pays its latency alone, at v = 4 more for the long one: the short
    one twice takes 4 + 8 − 4 of what both shall, the long one alone 5 + 4 − 4.
    """
    free = (np.zeros(2, dtype=np.int64), 2)
    document = sweep_certificate(13, free, [3, -1], [0, 1])
    assert document["strict"] == [0, 1]
    assert "strict" not in sweep_certificate(13, free, [3, -1])
    assert sweep_certificate(13, free, [], [])["strict"] == []
    assert certificate_document(read_certificate(document)) == document
    assert evaluate_certificate(PAIR, read_certificate(sweep_certificate(9, free, [], []))) == 9


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"strict": [2]}, "strict: expected kinds"),
        ({"strict": [1, 0]}, "strict: expected kinds"),
        ({"strict": [0, 0]}, "strict: expected kinds"),
        ({"strict": [-1]}, "strict.0"),
        ({"strict": [True]}, "strict.0"),
        ({"kind": "prices", "strict": []}, "strict: expected with the kind sweep"),
        ({"value": 14}, "leaves paths"),
        ({"value": 14, "multipliers": [1 << 57, 0]}, "too large"),
    ],
)
def test_damaged_strict_kinds_are_refused(change: dict[str, Any], text: str) -> None:
    """One line says what is wrong; an equal pair is no strict kind."""
    free = (np.zeros(2, dtype=np.int64), 1)
    document = sweep_certificate(9, free, [0, 0], [0, 1])
    assert evaluate_certificate(PAIR, read_certificate(document)) == 9
    with pytest.raises(CertificateError, match=text):
        evaluate_certificate(PAIR, read_certificate(document | change))
    twins = replace(PAIR, requests=(*PAIR.requests, Request(2, 0, 3, 4)))
    with pytest.raises(CertificateError, match="strict: expected kinds"):
        evaluate_certificate(twins, read_certificate(document))


def test_a_forged_certificate_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide windows over many small requests are refused after as many steps as are allowed."""
    monkeypatch.setattr(limits, "MOST_STEPS", 50_000_000)
    rows = [Request(i, 0, i % 9, 1 + i % 7) for i in range(60)]
    for value, multipliers in ((10**4, [0] * 60), (4_000, [-(10**3)] * 60), (10**3, [50] * 60)):
        certificate = Certificate(
            "sweep", value, multipliers=tuple(multipliers), strict=tuple(range(60))
        )
        with pytest.raises(CertificateError, match="takes more than the 50000000 steps"):
            evaluate_certificate(Instance("wide", 60, tuple(rows)), certificate)
