"""Prompts and outputs normal (25, 8.33) within 1..50, memory 100.

Source: wang2025 Appendix 11.2: mean 25, standard deviation 8.33, clipped to [1, 50].  The paper
leaves open how lengths become integers; we round to the nearest and then clip.
"""

from __future__ import annotations

from instances.arrivals import Rate, Variation, arriving
from instances.families.build import (
    Count,
    Length,
    Memory,
    Seed,
    Spread,
    drawn,
    longest_fits,
    ranged,
)
from instances.families.draws import Draws, rounded_and_clipped
from instances.model import Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 100,
    memory: Memory = 100,
    longest: Length = 50,
    mean: Spread = 25.0,
    deviation: Spread = 8.33,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw an instance with normal lengths, by default all at round 0.

    Parameters
    ----------
    seed, n, memory, longest : int
        As in ``uniform``, with the same errors.
    mean, deviation : float
        Of prompts and of outputs before rounding and clipping (tokens), above 0.
    rate, cv, seconds
        When they arrive; see :func:`instances.arrivals.arriving`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    longest_fits(longest, memory)
    draws = Draws(seed)

    def length() -> int:
        return rounded_and_clipped(draws.normal(mean, deviation), 1, longest)

    rows = [(0, length(), length()) for _ in range(n)]
    instance = drawn("normal", "wang2025 Appendix 11.2", seed, memory, rows)
    return arriving(instance, draws, rate, cv, seconds)
