"""Certificates of bounds: never above the optimum, exact, and refused where they prove nothing."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formulations.certificates.certificate_evaluation import (
    evaluate_certificate,
    shrink_certificate,
)
from formulations.certificates.certificate_file import (
    Certificate,
    PricedWindowGroup,
    certificate_document,
    price_certificate,
    read_certificate,
)
from formulations.certificates.reader_budget import CertificateError
from formulations.lagrangian.price_bound import certify_prices
from formulations.lagrangian.priced_starts import start_costs
from formulations.valid.volume_bounds import volume_bound
from formulations.valid.window_groups import window_groups
from instances import Instance, Request
from instances.families import families
from kvopt.best_known.registry_files import read_certificate_file
from support.input_files import LARGEST_PROOF
from tests.oracles.brute_force import brute_force_optimum

AM1 = families()["am1"].generate(seed=1)
SMALL = families()["am1"].generate(seed=4, n=5, memory=14)


def test_the_evaluation_is_that_of_the_search_for_prices() -> None:
    """Three evaluations written apart agree: plain prices, prices with groups, and this one."""
    rng = np.random.default_rng(7)
    prices = rng.random(200) / 40
    plain = certify_prices(AM1, prices.tolist())
    document = price_certificate(plain.value, plain.denominator, plain.numerators)
    assert evaluate_certificate(AM1, read_certificate(document)) == plain.value
    groups = window_groups(AM1)
    costs = start_costs(AM1, prices, groups, rng.random((len(groups), 200)) / 3)
    document = price_certificate(
        costs.bound, costs.denominator, costs.memory, groups=groups, group_prices=costs.groups
    )
    assert evaluate_certificate(AM1, read_certificate(document)) == costs.bound


def test_huge_prices_are_evaluated_in_whole_numbers() -> None:
    """Beyond 64 bits Python's own integers are used: scaling all prices changes nothing."""
    rng = np.random.default_rng(3)
    memory = tuple(rng.integers(0, 1000, 90).tolist())
    small = Certificate("prices", 0, None, 20_000, memory)
    factor = 10**13
    large = replace(small, denominator=20_000 * factor, memory=tuple(p * factor for p in memory))
    assert evaluate_certificate(AM1, large) == evaluate_certificate(AM1, small) > 0


def test_a_smaller_denominator_proves_the_same() -> None:
    """Shrunk prices are shorter to write and still reach the bound."""
    plain = certify_prices(AM1, (np.linspace(1, 0, 150) * len(AM1) / AM1.memory / 10).tolist())
    whole = read_certificate(price_certificate(plain.value, plain.denominator, plain.numerators))
    short = shrink_certificate(AM1, whole)
    assert evaluate_certificate(AM1, short) >= whole.value == short.value
    assert short.denominator < whole.denominator
    shown, before = (json.dumps(certificate_document(each)) for each in (short, whole))
    assert len(shown) < len(before) / 2


def test_volumes_need_nothing_and_windows_can_only_raise_a_bound() -> None:
    """The volume bound is its own certificate; with windows a minimum is over fewer starts."""
    volumes = Certificate("volumes", volume_bound(SMALL))
    assert evaluate_certificate(SMALL, volumes) == volumes.value
    assert volumes.bare
    assert shrink_certificate(SMALL, volumes) is volumes
    free = Certificate("prices", 0, None, 200, tuple(range(30, 0, -1)))
    optimum = brute_force_optimum(SMALL)
    limited = replace(free, upper_bound=optimum)
    assert evaluate_certificate(SMALL, free) <= evaluate_certificate(SMALL, limited) <= optimum
    assert not limited.bare


def test_windows_that_are_longer_than_proved_are_refused() -> None:
    """A group whose windows are stretched by a round, or that names a request twice, is none."""

    def priced(members: list[tuple[int, int, int]]) -> Certificate:
        group = PricedWindowGroup(1, tuple(members), (1,))
        return Certificate("prices", 1, None, 1, (1,), (group,))

    group = next(group for group in window_groups(AM1) if group.most == 1)
    members = [(m.request, m.before, m.after) for m in group.members]
    first = members[0]
    stretched = [(first[0], first[1], first[2] + 1), *members[1:]]
    early = [(first[0], first[1] + 1, first[2]), *members[1:]]
    for wrong in (stretched, early, [*members, members[0]], [*members, (len(AM1), 0, 1)]):
        with pytest.raises(CertificateError, match="group 0: "):
            evaluate_certificate(AM1, priced(wrong))
    # Fewer members and shorter windows are proved as well.
    shorter = [(first[0], first[1], first[2] - 1), *members[1:-1]]
    if first[2] - 1 > -first[1]:
        assert evaluate_certificate(AM1, priced(shorter)) <= 10**6


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"kind": "prices"},
        {"kind": "faith", "value": 3},
        {"kind": "prices", "value": 3, "memory": [-1]},
        {"kind": "prices", "value": 3, "memory": [0.5]},
        {"kind": "prices", "value": True},
        {"kind": "prices", "value": 3, "denominator": 0},
        {"kind": "prices", "value": 3, "more": 1},
        {"kind": "prices", "value": 3, "groups": [{"most": 0, "members": [], "prices": []}]},
    ],
)
def test_what_is_no_certificate_is_one_line(document: object) -> None:
    """Wrong kinds, floats, negative prices and unknown keys are refused."""
    with pytest.raises(CertificateError) as caught:
        read_certificate(document)
    assert "\n" not in str(caught.value)


def test_arrivals_in_seconds_have_no_certificate() -> None:
    """Rounds are what the proof is about."""
    instance = Instance("s", 5, (Request(0, 0.5, 1, 1),), time_unit="second")
    with pytest.raises(CertificateError, match="arrivals in rounds"):
        evaluate_certificate(instance, Certificate("volumes", 1))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"memory": ["x"] * 10**6}, "memory.0: Input should be a valid integer"),
        ({"groups": [{str(k): 0 for k in range(10**5)}]}, "expected at most 30 keys in one object"),
        ({"value": 10**5000}, "value: Input should be less than 9223372036854775808"),
        ({"multipliers": [-(2**63)]}, "multipliers.0: Input should be greater than"),
    ],
    ids=["wrong elements", "unknown keys", "many digits", "many bits"],
)
def test_what_is_wrong_often_is_told_once(change: dict[str, Any], complaint: str) -> None:
    """The first fault, without a note of each other one: a million of these took a gigabyte."""
    tracemalloc.start()
    try:
        with pytest.raises(CertificateError, match=complaint) as refused:
            read_certificate({"kind": "prices", "value": 1} | change)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
    assert len(str(refused.value)) < 200


def test_a_certificate_of_many_bytes_is_not_read(tmp_path: Path) -> None:
    """A file beyond what any proof has is refused by its size."""
    file = tmp_path / "certificate.json"
    with file.open("wb") as sparse:
        sparse.truncate(LARGEST_PROOF + 1)
    with pytest.raises(CertificateError, match="expected at most 16,777,216 bytes"):
        read_certificate_file(file, AM1)
