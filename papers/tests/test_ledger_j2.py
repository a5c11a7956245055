"""Refuted statements of J2, derived a second time by closed forms and brute force."""

import math

import pytest

from papers.ledger.check_results import by_policy, together
from papers.ledger.checks import j2
from tests.oracles.brute_force import brute_force_optimum


def triangle(s: int, o: int, n: int, memory: int) -> tuple[float, float, float, float]:
    """Return ȳ, λ₁, d and no + nȳ − Mλ₁²/(2d), in the paper's q, β, α of Lemma B.2."""
    q, beta = n / memory, 2 * s + o + 1
    alpha = 2 * (o - 1) * (3 * s + 2 * o + 2) / (3 * beta)
    y = max(0.0, (q * beta * o - alpha) / 2)
    first, d = (2 * y + alpha) / (beta * o), 2 / (beta * o)
    return y, first, d, n * o + n * y - n * (2 * y + alpha) ** 2 / (4 * q * beta * o)


def test_the_dual_value_is_below_the_printed_one() -> None:
    """The sum of λ has a closed form above the triangle; 5.25 is above the optimum of 4."""
    for case in j2.identical(5):
        _, o, n, memory = case
        y, first, d, printed = triangle(*case)
        theta = math.ceil(first / d - 1e-9) - first / d
        total = first**2 / (2 * d) + first / 2 + d * theta * (1 - theta) / 2
        assert float(j2.exact_value(case)) == pytest.approx(n * o + n * y - memory * total)
        assert float(j2.printed_value(case)) == pytest.approx(printed)
        assert j2.exact_value(case) <= j2.printed_value(case)
    assert triangle(0, 1, 3, 2)[3] == 5.25
    assert brute_force_optimum(together(2, *[(0, 1)] * 3)) == 4
    assert triangle(1, 1, 3, 4)[3] == 5.25
    assert brute_force_optimum(together(4, *[(1, 1)] * 3)) == 4


@pytest.mark.parametrize("case", [(0, 2, 4, 5), (1, 2, 4, 8), (2, 3, 3, 11), (1, 3, 5, 9)])
def test_the_dual_value_is_a_bound(case: j2.Case) -> None:
    """Lemma B.1 by weak duality: the value is at most the optimum."""
    s, o, n, memory = case
    assert j2.exact_value(case) <= brute_force_optimum(together(memory, *[(s, o)] * n))


def test_lemma_b_2_needs_more_requests_than_fit() -> None:
    """(5/8 + (s + o)q)·o over o + ȳ − (2ȳ + α)²/(4qβo): 4.81 for one request, M = 23."""
    s, o, n, memory = 0, 2, 1, 23
    printed = triangle(s, o, n, memory)[3]
    found = (5 * o * n / 8 + o * (s + o) * n * n / memory) / printed
    assert found == pytest.approx(4.81, abs=0.005)
    assert "4.81" in j2.lemma_b_2().lines[1]


def test_mc_sf_is_smallest_volume_first_where_prompts_are_equal() -> None:
    """s·o + o(o + 1)/2 increases with o, so K Theorem 3.2 is about MC-SF; OPT by brute force."""
    for s in range(3):
        volumes = [s * o + o * (o + 1) // 2 for o in range(1, 30)]
        assert volumes == sorted(set(volumes))
    for outputs in ((1, 1, 2, 2, 3), (1, 3, 3, 3, 3), (2, 2, 2, 3, 3)):
        instance = together(10, *((1, o) for o in outputs))
        assert by_policy("mc-sf", instance).tel <= 5 * brute_force_optimum(instance)
