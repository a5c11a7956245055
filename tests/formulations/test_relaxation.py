"""Backward dynamic programming with dominance against brute force: no bound is too high."""

from __future__ import annotations

import pytest

from tests.formulations.relaxed import one_case


@pytest.mark.parametrize("part", range(6))
def test_no_bound_is_above_the_optimum(part: int) -> None:
    """Arrivals, equal requests, strict kinds, random prices and multipliers: 300 draws."""
    tight = 0
    for seed in range(50 * part, 50 * part + 50):
        bound, optimum, _ = one_case(seed)
        tight += bound == optimum
    assert tight > 5
